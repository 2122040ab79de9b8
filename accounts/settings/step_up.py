"""The page on which the viewer confirms an action of `require_step_up`: by password, code or passkey."""

from typing import Any

from django.http import HttpResponse
from django.views.decorators.debug import sensitive_variables

from accounts.factors.passkeys import CONFIRM
from accounts.factors.service import FactorService
from accounts.factors.step_up import store_confirmation
from accounts.forms import FORM_ERRORS, CodeForm, ConfirmForm, redisplay_form, render_form, validate_form
from accounts.models import Account
from accounts.sessions.authentication import check_factor, check_own_password, renew_session, require_account
from socialsite.ids import AccountId
from socialsite.web.requests import FormFields, SiteRequest, dispatch_by_method, get_form_data
from socialsite.web.responses import done

OVERVIEW_PATH = "/accounts/"
TEMPLATE = "accounts/confirm.html"


async def confirm_page(request: SiteRequest) -> HttpResponse:
    page = await _page(request, require_account(request))
    return render_form(request, TEMPLATE, ConfirmForm(initial={"next": page["next_url"]}), dict, page)


@sensitive_variables()
async def confirm_identity(request: SiteRequest) -> HttpResponse:
    """Continue the session with a new token, so that a copy of the earlier token ends, and go to `next`."""
    account, fields = require_account(request), get_form_data(request)
    form = _code_form(fields) if "code" in fields else ConfirmForm(fields)
    try:
        if "code" in fields or fields.get("credential"):
            await check_factor(request, CONFIRM, AccountId(account.id))
        else:
            await check_own_password(request, validate_form(form)["password"])
    except FORM_ERRORS as error:
        page = await _page(request, account)
        if "code" in fields:
            page |= {"form": ConfirmForm(initial={"next": page["next_url"]}), "code_form": form}
        return redisplay_form(request, TEMPLATE, form, error, page)
    await renew_session(request, account)
    store_confirmation(request)
    return done(request, {}, default=OVERVIEW_PATH)


async def _page(request: SiteRequest, account: Account) -> dict[str, Any]:
    """Return what the page offers beside the password: a form for a code, a passkey."""
    factors = await request.services[FactorService].find(AccountId(account.id))
    next_url = request.GET.get("next", "") if request.method == "GET" else get_form_data(request).get("next", "")
    code_form = _code_form(initial={"next": next_url}) if factors.is_set else None
    return {"code_form": code_form, "has_passkey": bool(factors.passkeys), "next_url": next_url}


def _code_form(data: FormFields | None = None, **options: Any) -> CodeForm:
    """Return the form beside the form of the password, with other ids."""
    return CodeForm(data, auto_id="code_%s", **options)


confirm = dispatch_by_method(GET=confirm_page, POST=confirm_identity)
