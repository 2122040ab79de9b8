"""The views to sign up, log in and log out."""

from django.http import HttpResponse
from django.views.decorators.debug import sensitive_variables

from accounts.accounts.service import AccountService
from accounts.domain import Preferences
from accounts.errors import InvalidCredentials
from accounts.forms import (
    FORM_ERRORS,
    LoginForm,
    SignUpForm,
    redisplay_form,
    render_form,
    validate_form,
    validate_password_form,
)
from accounts.presenters import account_json
from accounts.sessions.authentication import clear_storage, get_known_browser, remember_browser, sign_in, sign_out
from socialsite.analytics.metrics import LOGINS
from socialsite.errors import MethodNotAllowed
from socialsite.limits import ActionLimits
from socialsite.web.requests import SiteRequest, dispatch_by_method, get_form_data, wants_json
from socialsite.web.responses import done, page_response


async def signup_page(request: SiteRequest) -> HttpResponse:
    return render_form(request, "accounts/signup.html", SignUpForm())


@sensitive_variables()
async def sign_up(request: SiteRequest) -> HttpResponse:
    """Create an account and sign it in. The response is 201 with the account. Pages continue with /welcome/."""
    await request.services[ActionLimits].enforce(request.caller, "signup")  # before the form is read
    form = SignUpForm(get_form_data(request))
    try:
        fields = await validate_password_form(form, is_known=False)
        account = await request.services[AccountService].sign_up(
            handle=fields["handle"],
            password=fields["password1"],
            display_name=fields["display_name"],
            now_ms=request.services.clock.now_ms(),
            is_known=False,
            preferences=None if wants_json(request) else Preferences(onboarding_step=1),
        )
    except FORM_ERRORS as error:
        return redisplay_form(request, "accounts/signup.html", form, error)
    await sign_in(request, account)
    response = done(request, {"account": account_json(account)}, default="/welcome/", status=201)
    return remember_browser(request, response, account)


async def login_page(request: SiteRequest) -> HttpResponse:
    form = LoginForm(initial={"next": request.GET.get("next", "")})
    return render_form(request, "accounts/login.html", form)


@sensitive_variables()
async def log_in(request: SiteRequest) -> HttpResponse:
    """Sign in. The response is 200 with the account. An unknown handle and a wrong password have the same response."""
    form = LoginForm(get_form_data(request))
    try:
        fields = validate_form(form)
        account = await request.services[AccountService].authenticate(
            fields["username"], fields["password"], caller=request.caller, browser=get_known_browser(request)
        )
        if account is None:
            raise InvalidCredentials
    except FORM_ERRORS as error:
        return redisplay_form(request, "accounts/login.html", form, error)
    request.services.statistics.meter.count(LOGINS)
    await sign_in(request, account)
    return remember_browser(request, done(request, {"account": account_json(account)}, default="/"), account)


async def logout_page(request: SiteRequest) -> HttpResponse:
    """Show the form that logs out. It exists as HTML only: JSON clients must POST."""
    if wants_json(request):
        raise MethodNotAllowed(["POST"])
    return page_response(request, "accounts/logout.html", {})


async def log_out(request: SiteRequest) -> HttpResponse:
    await sign_out(request)
    return clear_storage(done(request, {}, default="/"))


signup = dispatch_by_method(GET=signup_page, POST=sign_up)
login = dispatch_by_method(GET=login_page, POST=log_in)
logout = dispatch_by_method(GET=logout_page, POST=log_out)
