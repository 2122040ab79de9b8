"""The page on which the viewer confirms an action of `require_step_up`: by password, code or passkey."""

from django.http import HttpResponse
from django.views.decorators.debug import sensitive_variables

from accounts.factors.passkeys import CONFIRM
from accounts.factors.service import FactorService
from accounts.factors.step_up import store_confirmation
from accounts.forms import FORM_ERRORS, CodeForm, ConfirmForm, redisplay_form, render_form, validate_form
from accounts.sessions.authentication import check_factor, check_own_password, renew_session, require_account
from socialsite.errors import ApiError
from socialsite.ids import AccountId
from socialsite.web.middleware.errors import shows_errors
from socialsite.web.requests import SiteRequest, dispatch_by_method, get_form_data
from socialsite.web.responses import done

OVERVIEW_PATH = "/accounts/"
TEMPLATE = "accounts/confirm.html"


async def confirm_page(request: SiteRequest, error: ApiError | None = None) -> HttpResponse:
    """Show the form of the password and, if the account has a second factor, the form of a code beside it."""
    factors = await request.services[FactorService].find(AccountId(require_account(request).id))
    sent = get_form_data(request) if error else None
    is_code, initial = "code" in (sent or ()), {"next": (sent or request.GET).get("next", "")}
    form = ConfirmForm(None if is_code else sent, initial=initial)
    code_form = CodeForm(sent if is_code else None, initial=initial, auto_id="code_%s")
    page = {"form": form, "next_url": initial["next"], "has_passkey": bool(factors.passkeys)}
    page["code_form"] = code_form if factors.is_set or is_code else None
    if error is not None:
        return redisplay_form(request, TEMPLATE, code_form if is_code else form, error, page)
    return render_form(request, TEMPLATE, form, page=page)


@shows_errors(confirm_page, *FORM_ERRORS)
@sensitive_variables()
async def confirm_identity(request: SiteRequest) -> HttpResponse:
    """Continue the session with a new token, so that a copy of the earlier token ends, and go to `next`."""
    account, fields = require_account(request), get_form_data(request)
    if "code" in fields or fields.get("credential"):
        await check_factor(request, CONFIRM, AccountId(account.id))
    else:
        await check_own_password(request, validate_form(ConfirmForm(fields))["password"])
    await renew_session(request, account)
    store_confirmation(request)
    return done(request, {}, default=OVERVIEW_PATH)


confirm = dispatch_by_method(GET=confirm_page, POST=confirm_identity)
