"""The page on which the viewer gives the password again before an action of `require_step_up`."""

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from accounts.accounts.service import AccountService
from accounts.errors import FieldErrors
from accounts.factors.step_up import store_confirmation
from accounts.forms import FORM_ERRORS, ConfirmForm, redisplay_form, render_form, validate_form
from accounts.sessions.authentication import require_account
from socialsite.web.requests import SiteRequest, dispatch_by_method, get_form_data
from socialsite.web.responses import done

OVERVIEW_PATH = "/accounts/"


async def confirm_page(request: SiteRequest) -> HttpResponse:
    require_account(request)
    return render_form(request, "accounts/confirm.html", ConfirmForm(initial={"next": request.GET.get("next", "")}))


@sensitive_variables()
async def confirm_password(request: SiteRequest) -> HttpResponse:
    """Continue the session with a new token, so that a copy of the earlier token ends, and go to `next`."""
    account, form = require_account(request), ConfirmForm(get_form_data(request))
    try:
        password = validate_form(form)["password"]
        if not await request.services[AccountService].check_password(account, password, caller=request.caller):
            raise FieldErrors({"password": _("That is not your current password.")})
    except FORM_ERRORS as error:
        return redisplay_form(request, "accounts/confirm.html", form, error)
    await request.session.acycle_key()
    store_confirmation(request)
    return done(request, {}, default=OVERVIEW_PATH)


confirm = dispatch_by_method(GET=confirm_page, POST=confirm_password)
