"""Signing up, logging in, logging out."""

from django.http import HttpResponse
from django.views.decorators.debug import sensitive_variables

from accounts.errors import WrongLogin
from accounts.forms import LoginForm, SignUpForm
from accounts.handles import HandleInvalid, normalize_handle
from accounts.presenters import account_json
from accounts.sessions.signing import sign_in, sign_out
from accounts.view_answers import Correctable, again, checked, done, show
from socialsite.errors import NotAllowed, RateLimited
from socialsite.recipes.rate_limit import Subject
from socialsite.web.limits import rules_of, take
from socialsite.web.requests import SiteRequest, form_data, methods, page_response, wants_json


async def signup_page(request: SiteRequest) -> HttpResponse:
    return show(request, "accounts/signup.html", SignUpForm())


@sensitive_variables()
async def sign_up(request: SiteRequest) -> HttpResponse:
    """201 with the account, signed in."""
    form = SignUpForm(form_data(request))
    try:
        fields = checked(form)
        await take(request, "signup")
        account = await request.services.accounts.sign_up(
            handle=fields["handle"],
            password=fields["password1"],
            display_name=fields["display_name"],
            now_ms=request.services.clock.now_ms(),
        )
    except Correctable as error:
        return again(request, "accounts/signup.html", form, error)
    await sign_in(request, account)
    return done(request, "/", {"account": account_json(account)}, 201)


async def login_page(request: SiteRequest) -> HttpResponse:
    form = LoginForm(initial={"next": request.GET.get("next", "")})
    return show(request, "accounts/login.html", form)


@sensitive_variables()
async def log_in(request: SiteRequest) -> HttpResponse:
    """200 with the account. One text for whatever was wrong: unknown, wrong password, suspended."""
    form = LoginForm(form_data(request))
    try:
        fields = checked(form)
        await count_login(request, fields["username"])
        account = await request.services.accounts.authenticate(fields["username"], fields["password"])
        if account is None:
            raise WrongLogin
    except Correctable as error:
        return again(request, "accounts/login.html", form, error)
    request.services.statistics.meter.logged_in()
    await sign_in(request, account)
    return done(request, "/", {"account": account_json(account)})


async def count_login(request: SiteRequest, username: str) -> None:
    """Count a try for the address and for the handle, whether it is anybody's or not. Raises RateLimited."""
    try:
        handle = normalize_handle(username)  # one counter for all spellings
    except HandleInvalid:
        handle = username
    subjects = (Subject.address(request.client_address), Subject.handle(handle))
    services = request.services
    verdict = await services.limits.hit_all(
        [(s, rules_of(request, "login")) for s in subjects], services.clock.now_ms()
    )
    if not verdict.granted:
        raise RateLimited(verdict.rule, verdict.retry_after_s)


async def logout_page(request: SiteRequest) -> HttpResponse:
    """Asks; only a POST logs out. There is nothing to ask a program, nor to answer as if it were done."""
    if wants_json(request):
        raise NotAllowed(["POST"])
    return page_response(request, "accounts/logout.html", {})


async def log_out(request: SiteRequest) -> HttpResponse:
    await sign_out(request)
    return done(request, "/", {})


signup = methods(GET=signup_page, POST=sign_up)
login = methods(GET=login_page, POST=log_in)
logout = methods(GET=logout_page, POST=log_out)
