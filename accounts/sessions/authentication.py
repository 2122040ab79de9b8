"""Signs requests in and out through Django's `alogin` and `alogout`."""

import structlog
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, alogin, alogout
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from accounts.accounts.service import AccountService
from accounts.errors import FieldErrors
from accounts.factors.passkeys import PasskeyService
from accounts.factors.service import FactorService
from accounts.factors.step_up import store_confirmation
from accounts.forms import CodeForm, validate_form
from accounts.mail.service import MailService
from accounts.models import Account
from accounts.security.browsers import BrowserRegistry, KnownBrowser
from accounts.security.events import SecurityEvents
from accounts.sessions.pending import PENDING_LOGIN_TTL_MS
from accounts.sessions.service import SessionStore
from accounts.sessions.values import describe_device
from socialsite.ids import AccountId
from socialsite.web.requests import SiteRequest, get_form_data, require_viewer
from socialsite.web.responses import set_own_cookie

KNOWN_BROWSER_MAX_AGE_S = 365 * 86_400

log = structlog.get_logger("accounts.security")


def require_account(request: SiteRequest) -> Account:
    """Return the signed-in account. Raises SignInRequired."""
    account = require_viewer(request)
    assert isinstance(account, Account)
    return account


def get_session(request: SiteRequest) -> SessionStore:
    session = request.session
    assert isinstance(session, SessionStore)
    return session


async def sign_in(request: SiteRequest, account: Account, factor: str = "") -> None:
    """Open a session with a new token. The browser's earlier session ends, which prevents session fixation.

    `factor` names the second factor that was used.
    """
    session = get_session(request)
    await session.aflush()
    session.device = describe_device(request.headers.get("User-Agent", ""))
    await alogin(request, account)
    request.account = account
    store_confirmation(request)
    log.info("signed_in", account=account.id)
    events, account_id = request.services[SecurityEvents], AccountId(account.id)
    await events.record(account_id, "login", request.caller, device=session.device, factor=factor)
    if not await request.services[BrowserRegistry].is_known(account_id, get_known_browser(request)):
        await request.services[MailService].notify_if_available(account_id, "new_device", device=session.device or "?")


@sensitive_variables()
async def check_own_password(request: SiteRequest, password: str) -> None:
    """Raise FieldErrors unless it is the viewer's password. Raises RateLimited, PasswordsBusy."""
    account = require_account(request)
    if not await request.services[AccountService].check_password(account, password, caller=request.caller):
        raise FieldErrors({"password": _("That is not your current password.")})


async def check_factor(request: SiteRequest, purpose: str, account_id: AccountId) -> str:
    """Use up the passkey or the code of a form. Return its kind. Raises FieldErrors, PasskeyRefused, RateLimited."""
    fields, services = get_form_data(request), request.services
    if credential := fields.get("credential"):
        await services[PasskeyService].check(purpose, account_id, credential, request.caller)
        return "passkey"
    code, browser = validate_form(CodeForm(fields))["code"], get_known_browser(request)
    return await services[FactorService].check_code(account_id, code, request.caller, browser)


async def remember_browser(request: SiteRequest, response: HttpResponse, account: Account) -> HttpResponse:
    """Set the cookie that gives this browser a limit of its own for log-ins to the account."""
    browser = (get_known_browser(request) or KnownBrowser.generate()).with_account(account.id)
    registry, device = request.services[BrowserRegistry], get_session(request).device
    await registry.remember(AccountId(account.id), browser, device, request.caller)
    set_own_cookie(response, settings.KNOWN_BROWSER_COOKIE_NAME, browser.cookie_value, KNOWN_BROWSER_MAX_AGE_S)
    return response


def get_known_browser(request: SiteRequest) -> KnownBrowser | None:
    return KnownBrowser.parse(request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE_NAME))


def set_pending_login(response: HttpResponse, cookie: str) -> HttpResponse:
    """Set the cookie of a pending log-in, or delete it if it is ""."""
    set_own_cookie(response, settings.PENDING_LOGIN_COOKIE_NAME, cookie, PENDING_LOGIN_TTL_MS // 1000 if cookie else 0)
    return response


async def sign_out(request: SiteRequest) -> None:
    account = request.account
    await alogout(request)
    request.account = None
    if account is not None:
        log.info("signed_out", account=account.id)


def clear_storage(response: HttpResponse) -> HttpResponse:
    """Make the browser delete pages and drafts. Browsers ignore the header over HTTP; there site.js deletes drafts."""
    response.headers["Clear-Site-Data"] = '"cache", "storage"'
    return response


async def renew_session(request: SiteRequest, account: Account) -> None:
    """Continue the session with a new token, and with the present hash of the password."""
    await request.session.acycle_key()
    await request.session.aset(HASH_SESSION_KEY, account.get_session_auth_hash())
    request.account = account
