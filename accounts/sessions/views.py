"""Signing up, logging in, logging out."""

from django.http import HttpResponse
from django.views.decorators.debug import sensitive_variables

from accounts.accounts.service import AccountService
from accounts.accounts.validation import InvalidHandle, normalize_handle
from accounts.errors import InvalidCredentials
from accounts.forms import FORM_ERRORS, LoginForm, SignUpForm, redisplay_form, render_form, validate_form
from accounts.presenters import account_json
from accounts.sessions.authentication import sign_in, sign_out
from socialsite.errors import MethodNotAllowed, RateLimited
from socialsite.recipes.rate_limit import Identifier
from socialsite.web.limits import enforce_rate_limit, get_rate_limit_rules
from socialsite.web.requests import SiteRequest, dispatch_by_method, done, get_form_data, page_response, wants_json


async def signup_page(request: SiteRequest) -> HttpResponse:
    return render_form(request, "accounts/signup.html", SignUpForm())


@sensitive_variables()
async def sign_up(request: SiteRequest) -> HttpResponse:
    """201 with the account, signed in."""
    form = SignUpForm(get_form_data(request))
    try:
        fields = validate_form(form)
        await enforce_rate_limit(request, "signup")
        account = await request.services[AccountService].sign_up(
            handle=fields["handle"],
            password=fields["password1"],
            display_name=fields["display_name"],
            now_ms=request.services.clock.now_ms(),
        )
    except FORM_ERRORS as error:
        return redisplay_form(request, "accounts/signup.html", form, error)
    await sign_in(request, account)
    return done(request, {"account": account_json(account)}, default="/", status=201)


async def login_page(request: SiteRequest) -> HttpResponse:
    form = LoginForm(initial={"next": request.GET.get("next", "")})
    return render_form(request, "accounts/login.html", form)


@sensitive_variables()
async def log_in(request: SiteRequest) -> HttpResponse:
    """200 with the account. Unknown handle, wrong password and suspension have the same answer."""
    form = LoginForm(get_form_data(request))
    try:
        fields = validate_form(form)
        await enforce_login_limit(request, fields["username"])
        account = await request.services[AccountService].authenticate(fields["username"], fields["password"])
        if account is None:
            raise InvalidCredentials
    except FORM_ERRORS as error:
        return redisplay_form(request, "accounts/login.html", form, error)
    request.services.statistics.meter.count_login()
    await sign_in(request, account)
    return done(request, {"account": account_json(account)}, default="/")


async def enforce_login_limit(request: SiteRequest, username: str) -> None:
    """Count an attempt for the address and for the handle, also for an unknown handle. Raises RateLimited."""
    try:
        handle = normalize_handle(username)  # all spellings share one counter
    except InvalidHandle:
        handle = username
    identifiers = (Identifier.address(request.client_address), Identifier.handle(handle))
    services = request.services
    decision = await services.limits.hit_all(
        [(identifier, get_rate_limit_rules(request, "login")) for identifier in identifiers], services.clock.now_ms()
    )
    if not decision.granted:
        raise RateLimited(decision.rule, decision.retry_after_s)


async def logout_page(request: SiteRequest) -> HttpResponse:
    """Show the form that logs out. HTML only: JSON clients must POST."""
    if wants_json(request):
        raise MethodNotAllowed(["POST"])
    return page_response(request, "accounts/logout.html", {})


async def log_out(request: SiteRequest) -> HttpResponse:
    await sign_out(request)
    return done(request, {}, default="/")


signup = dispatch_by_method(GET=signup_page, POST=sign_up)
login = dispatch_by_method(GET=login_page, POST=log_in)
logout = dispatch_by_method(GET=logout_page, POST=log_out)
