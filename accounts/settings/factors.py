"""The pages on which the viewer sets up and removes second factors. All need a step-up."""

from urllib.parse import urlsplit

import pyotp
import segno
from django.conf import settings
from django.core import signing
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from accounts.errors import FieldErrors
from accounts.factors.passkeys import PasskeyService
from accounts.factors.service import FactorService
from accounts.factors.step_up import require_step_up
from accounts.forms import FORM_ERRORS, PasskeyForm, TotpForm, redisplay_form, render_form, show_form, validate_form
from accounts.mail.links import load_signed
from accounts.models import Account
from accounts.sessions.authentication import require_account
from socialsite.errors import ApiError
from socialsite.ids import AccountId
from socialsite.web.middleware.errors import shows_errors
from socialsite.web.requests import SiteRequest, dispatch_by_method, get_form_data, require_viewer_id, wants_json
from socialsite.web.responses import done, get_site, json_response, page_response

SECURITY_PATH = "/accounts/security/"
SETUP_SALT = "accounts.factors.totp"
SETUP_MAX_AGE_S = 3_600
QR_BORDER = 4  # modules, as ISO/IEC 18004 requires


@sensitive_variables()
async def totp_page(request: SiteRequest) -> HttpResponse:
    """Show a new secret as QR code and as text. The form contains the signed secret, so that nothing is stored yet."""
    require_step_up(request)
    account, secret = require_account(request), pyotp.random_base32()
    form = TotpForm(initial={"setup": signing.dumps([account.id, secret], salt=SETUP_SALT)})
    page = build_setup_page(account, secret, get_site(request).title)
    data = lambda: {"secret": secret, "uri": page["uri"], "setup": form.initial["setup"]}  # noqa: E731
    return render_form(request, "accounts/totp.html", form, data, page)


@sensitive_variables()
async def add_totp(request: SiteRequest) -> HttpResponse:
    """Add the secret of the page if the code belongs to it."""
    require_step_up(request)
    account, form, page = require_account(request), TotpForm(get_form_data(request)), {}
    try:
        fields = validate_form(form)
        secret = _read_setup(account, fields["setup"])
        page = build_setup_page(account, secret, get_site(request).title)
        codes = await request.services[FactorService].add_totp(
            AccountId(account.id), secret, fields["code"], request.caller
        )
    except FORM_ERRORS as error:
        return redisplay_form(request, "accounts/totp.html", form, error, page)
    return _respond_with_codes(request, codes)


async def passkeys_page(request: SiteRequest, error: ApiError | None = None) -> HttpResponse:
    """Show the form. At another host the page leads to the host of SITE_URL, to which passkeys belong."""
    require_step_up(request)
    is_own_host = urlsplit(f"//{request.get_host()}").hostname == urlsplit(settings.SITE_URL).hostname
    page = {"other_url": "" if is_own_host else settings.SITE_URL + request.path}
    return show_form(request, "accounts/passkeys.html", PasskeyForm, error, page)


@shows_errors(passkeys_page, *FORM_ERRORS)
@sensitive_variables()
async def add_passkey(request: SiteRequest) -> HttpResponse:
    """Add the passkey that the browser has created. Without `credential` return the options for its creation."""
    require_step_up(request)
    account, service, fields = require_account(request), request.services[PasskeyService], get_form_data(request)
    if wants_json(request) and not fields.get("credential"):
        return json_response(await service.begin_registration(account))
    valid = validate_form(PasskeyForm(fields))
    codes = await service.register(account, valid["credential"], valid["name"], request.caller)
    return _respond_with_codes(request, codes)


@sensitive_variables()
async def renew_codes(request: SiteRequest) -> HttpResponse:
    """Replace the recovery codes, and show the new ones."""
    require_step_up(request)
    account_id, service = require_viewer_id(request), request.services[FactorService]
    if not (await service.find(account_id)).is_set:
        raise FieldErrors(message=_("Recovery codes belong to a second factor. Set one up first."))
    return _respond_with_codes(request, await service.renew_codes(account_id, request.caller))


async def remove_factor(request: SiteRequest) -> HttpResponse:
    """Remove "totp" or the passkey with this id."""
    require_step_up(request)
    factor = get_form_data(request).get("factor", "")
    await request.services[FactorService].remove(require_viewer_id(request), factor, request.caller)
    return done(request, {}, default=SECURITY_PATH)


def _respond_with_codes(request: SiteRequest, codes: list[str]) -> HttpResponse:
    """Show new recovery codes once, or redirect to the security page if there are none."""
    if codes and not wants_json(request):
        return page_response(request, "accounts/codes.html", {"codes": codes})
    return done(request, {"recovery_codes": codes}, default=SECURITY_PATH)


def build_setup_page(account: Account, secret: str, site_name: str) -> dict[str, object]:
    """Return the context of the page: the secret in groups of four, and the QR code as an SVG path."""
    uri = pyotp.TOTP(secret).provisioning_uri(name=account.handle, issuer_name=site_name)
    rows = [bytes(row) for row in segno.make(uri, error="m", micro=False).matrix_iter(border=QR_BORDER)]
    dark = ((x, y) for y, row in enumerate(rows) for x, module in enumerate(row) if module)
    return {
        "uri": uri,
        "secret": " ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        "qr_size": len(rows),
        "qr_path": "".join(f"M{x} {y}h1v1h-1z" for x, y in dark),
    }


def _read_setup(account: Account, signed: str) -> str:
    """Return the secret of the form. Raises FieldErrors if it is older than an hour, or belongs to another account."""
    account_id, secret = load_signed(signed, SETUP_SALT, SETUP_MAX_AGE_S) or (None, "")
    if account_id != account.id:
        raise FieldErrors({"": _("This page is too old. Please load it again.")})
    return str(secret)


totp = dispatch_by_method(GET=totp_page, POST=add_totp)
passkeys = dispatch_by_method(GET=passkeys_page, POST=add_passkey)
codes = dispatch_by_method(POST=renew_codes)
remove = dispatch_by_method(POST=remove_factor)
