"""The security page: second factors, sessions, apps and recent events of the viewer's account."""

from collections.abc import Mapping

from django.http import HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.factors.service import FactorService
from accounts.factors.values import Factors
from accounts.oauth.scopes import describe_scopes
from accounts.security.browsers import BrowserRegistry
from accounts.security.events import SecurityEvents
from accounts.sessions.authentication import get_session
from accounts.sessions.presenters import sessions_json
from accounts.sessions.service import SessionService
from accounts.sessions.tokens import AccessTokenService
from socialsite.web.requests import SiteRequest, dispatch_by_method, get_form_data, require_viewer_id
from socialsite.web.responses import done, respond, select_fields

EVENT_LABELS: Mapping[str, str | Promise] = {
    "login": _("Logged in"),
    "login_refused": _("Log-in refused: wrong password"),
    "factor_refused": _("Wrong code or passkey after the right password"),
    "confirmation_refused": _("Confirmation refused: wrong password"),
    "password_changed": _("Password changed"),
    "address_changed": _("Mail address changed"),
    "app_added": _("App allowed"),
    "sessions_ended": _("Logged out on other devices"),
    "totp_added": _("App for codes added"),
    "passkey_added": _("Passkey added"),
    "passkey_uncounted": _("Passkey used that no longer counts its uses"),
    "passkey_repeated": _("Passkey refused: it may have been copied"),
    "factor_removed": _("Second factor removed"),
    "factors_disabled": _("Second factors removed by an operator"),
    "codes_renewed": _("New recovery codes"),
    "code_used": _("Recovery code used"),
    "archive_requested": _("Archive of the account requested"),
    "deletion_requested": _("Deletion of the account requested"),
}


async def read_sessions(request: SiteRequest) -> tuple[dict[str, object], dict[str, object]]:
    """Return the context of templates/accounts/_sessions.html, and the JSON of sessions and apps."""
    account_id, current = require_viewer_id(request), get_session(request).session_id
    sessions = await request.services[SessionService].list_sessions(account_id, current)
    tokens = await request.services[AccessTokenService].list_tokens(account_id)
    page = {"sessions": sessions, "apps": [(token, describe_scopes(token.scopes)) for token in tokens]}
    return page, sessions_json(sessions, tokens)


async def security_page(request: SiteRequest) -> HttpResponse:
    account_id, services = require_viewer_id(request), request.services
    factors = await services[FactorService].find(account_id)
    sessions, data = await read_sessions(request)
    events = await services[SecurityEvents].list_newest(account_id)
    browsers = await services[BrowserRegistry].list_browsers(account_id)
    page = {
        "browsers": browsers.items(),
        "factors": factors,
        "passkeys": factors.passkeys.items(),
        "codes_left": len(factors.code_digests),
        **sessions,
        "events": [(EVENT_LABELS.get(event.kind, event.kind), event) for event in events],
    }
    return respond(
        request,
        "accounts/security.html",
        page=lambda: page,
        data=lambda: {
            "factors": _factors_json(factors),
            **data,
            "browsers": [
                select_fields(browser, "device network last_login_at", id=id) for id, browser in browsers.items()
            ],
            "events": [select_fields(event, "at kind network", **event.details) for event in events],
        },
    )


async def forget_browser(request: SiteRequest) -> HttpResponse:
    """Forget a browser: its next log-in counts as the log-in of a stranger."""
    account_id, id = require_viewer_id(request), get_form_data(request).get("browser", "")
    await request.services[BrowserRegistry].forget(account_id, id)
    return done(request, {}, default=request.path)


def _factors_json(factors: Factors) -> dict[str, object]:
    return {
        "totp": factors.totp is not None,
        "recovery_codes": len(factors.code_digests),
        "passkeys": [
            select_fields(passkey, "name created_at last_used_at", id=id) for id, passkey in factors.passkeys.items()
        ],
    }


security = dispatch_by_method(GET=security_page, POST=forget_browser)
