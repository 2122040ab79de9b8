"""The views to sign up, log in and log out."""

from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.forms import CheckboxInput
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from accounts import errors, forms
from accounts.accounts.service import AccountService
from accounts.domain import ACTIVE, SUSPENDED, WAITING, Preferences
from accounts.factors.passkeys import CONFIRM, FACTOR, LOGIN, PasskeyService
from accounts.factors.service import FactorService
from accounts.joining.service import JoiningService
from accounts.mail.service import MailService
from accounts.models import Account
from accounts.presenters import account_json
from accounts.sessions.authentication import (
    check_factor,
    clear_storage,
    get_known_browser,
    remember_browser,
    set_pending_login,
    sign_in,
    sign_out,
)
from accounts.sessions.pending import PendingLogins
from accounts.sessions.suspend import appeal_suspended, show_suspension
from socialsite.analytics.metrics import LOGINS
from socialsite.errors import ApiError, Conflict, LazyText, MethodNotAllowed, SignInRequired
from socialsite.ids import AccountId
from socialsite.limits import ActionLimits
from socialsite.site.service import SiteService
from socialsite.store.errors import StoreError
from socialsite.web.middleware.errors import get_error_status, respond_to_error, shows_errors
from socialsite.web.requests import SiteRequest, dispatch_by_method, get_form_data, require_viewer_id, wants_json
from socialsite.web.responses import SeeOther, done, json_response, page_response, redirect_with_next, respond

FACTOR_PATH, WAITING_PATH = "/accounts/login/factor/", "/accounts/waiting/"
SIGNUP_TEMPLATE = "accounts/signup.html"


async def _refuse_sign_up(request: SiteRequest, error: ApiError, code: str = "") -> HttpResponse:
    page = {**_sign_up_page(request, None), "refusal": error.message}
    return page_response(request, SIGNUP_TEMPLATE, page, get_error_status(error))


@shows_errors(_refuse_sign_up, errors.SignUpClosed, errors.InvitationInvalid)
async def signup_page(request: SiteRequest, code: str = "") -> HttpResponse:
    """Show the form of a new account, or the reason why there is none. `code` is that of an invitation."""
    inviter = await request.services[JoiningService].check(code)
    form = forms.SignUpForm(
        initial={"invitation": code}, asks_reason=request.services[JoiningService].asks_reason(code)
    )
    form.fields["handle"].widget.attrs["autofocus"] = True
    return forms.render_form(request, SIGNUP_TEMPLATE, form, page=_sign_up_page(request, inviter))


def _sign_up_page(request: SiteRequest, inviter: Account | None) -> dict[str, object]:
    """Return the context of the form. A members-only site names no account to a visitor."""
    site = request.services[SiteService].settings
    return {"inviter": None if site.members_only else inviter, "welcome": site.welcome}


@shows_errors(_refuse_sign_up, errors.SignUpClosed, errors.InvitationInvalid)
@sensitive_variables()
async def sign_up(request: SiteRequest) -> HttpResponse:
    """Create an account and sign it in. The response is 201 with the account. Pages continue with /welcome/.

    If staff has to approve the account, the response is 202, and pages continue with the page that says so.
    """
    await request.services[ActionLimits].enforce(request.caller, "signup")  # before the form is read
    data, joining = get_form_data(request), request.services[JoiningService]
    code = data.get("invitation", "")
    form = forms.SignUpForm(data, asks_reason=joining.asks_reason(code))
    inviter = await joining.check(code, data.get("handle", ""))
    try:
        fields = await forms.validate_password_form(form, is_known=False)
        account = await joining.sign_up(
            handle=fields["handle"],
            password=fields["password1"],
            display_name=fields["display_name"],
            code=code,
            reason=fields.get("reason", ""),
            address=fields["address"],
            caller=request.caller,
            preferences=None if wants_json(request) else Preferences(onboarding_step=1),
        )
    except errors.FieldErrors as error:
        faults = errors.FieldErrors({**await _find_handle_fault(request, form), **error.fields})
        return forms.redisplay_form(request, SIGNUP_TEMPLATE, form, faults, _sign_up_page(request, inviter))
    except forms.FORM_ERRORS as error:
        return forms.redisplay_form(request, SIGNUP_TEMPLATE, form, error, _sign_up_page(request, inviter))
    if account.is_active:
        await sign_in(request, account)
    if fields["address"]:
        with suppress(StoreError):  # the account exists, and its page of mail can send the mail again
            await request.services[MailService].request_address(AccountId(account.id), fields["address"], None)
    if not account.is_active:
        cookie = await request.services[PendingLogins].begin(account)
        return set_pending_login(done(request, {"waiting": True}, default=WAITING_PATH, status=202), cookie)
    response = done(request, {"account": account_json(account)}, default="/welcome/", status=201)
    return await remember_browser(request, response, account)


@sensitive_variables()
async def check_sign_up(request: SiteRequest) -> HttpResponse:
    """Return the faults of a handle and a password. The page requests them while they are typed."""
    await request.services[ActionLimits].enforce(request.caller, "complete")
    data, faults = get_form_data(request), dict[str, LazyText]()
    await request.services[JoiningService].check(data.get("invitation", ""), data.get("handle", ""))
    form = forms.SignUpForm(data)
    try:
        await forms.validate_password_form(form, is_known=False)
    except errors.FieldErrors as error:
        faults.update(error.fields)
    faults.update(await _find_handle_fault(request, form))
    named = {name: str(faults[name]) for name in ("handle", "password1") if data.get(name) and name in faults}
    return json_response({"fields": named})


async def _find_handle_fault(request: SiteRequest, form: forms.SignUpForm) -> Mapping[str, LazyText]:
    """Return why a valid handle is not available, by the name of its field, or an empty mapping."""
    if handle := form.cleaned_data.get("handle"):
        try:
            await request.services[JoiningService].check_handle(handle)
        except errors.HandleTaken as error:
            return {"handle": error.message}
        except errors.FieldErrors as error:
            return error.fields
    return {}


async def login_page(request: SiteRequest) -> HttpResponse:
    form = forms.LoginForm(initial={"next": request.GET.get("next", "")})
    form.fields["username"].widget.attrs["autofocus"] = True
    return forms.render_form(request, "accounts/login.html", form)


@sensitive_variables()
async def log_in(request: SiteRequest) -> HttpResponse:
    """Sign in. The response is 200 with the account. An unknown handle and a wrong password have the same response."""
    form = forms.LoginForm(get_form_data(request))
    try:
        fields = forms.validate_form(form)
        account = await request.services[AccountService].authenticate(
            fields["username"],
            fields["password"],
            caller=request.caller,
            browser=get_known_browser(request),
            keep=fields["keep"],
        )
        if account is None:
            raise errors.InvalidCredentials
    except forms.FORM_ERRORS as error:
        if isinstance(error, errors.AccountWaiting):
            waiting = await request.services[AccountService].get(error.account_id)
            return await _begin_pending(request, waiting, error, WAITING_PATH)
        if isinstance(error, errors.AccountSuspended) and error.account_id is not None and not wants_json(request):
            return await _continue_login(request, await request.services[AccountService].get(error.account_id), "")
        if isinstance(error, errors.DeletionPending):
            form.fields["keep"].widget = CheckboxInput()
        return forms.redisplay_form(request, "accounts/login.html", form, error)
    return await _continue_login(request, account, fields["next"])


async def _continue_login(request: SiteRequest, account: Account, next_url: str) -> HttpResponse:
    """Ask for the second factor if the account has one, else finish the log-in."""
    if (await request.services[FactorService].find(AccountId(account.id))).is_set:
        query = f"?{urlencode({'next': next_url})}" if next_url else ""
        return await _begin_pending(request, account, errors.FactorNeeded(), FACTOR_PATH + query)
    return await _finish_login(request, account)


async def _finish_login(request: SiteRequest, account: Account, factor: str = "") -> HttpResponse:
    """Sign in, and take a requested deletion back. A suspended account gets only the page of its suspension."""
    if account.is_leaving:
        await request.services[AccountService].reinstate(account_id=AccountId(account.id), if_leaving=True)
        account = await request.services[AccountService].get(AccountId(account.id))
    if not account.is_active:
        return await show_suspension(request, account)
    request.services.statistics.meter.count(LOGINS)
    await sign_in(request, account, factor)
    return await remember_browser(request, done(request, {"account": account_json(account)}, default="/"), account)


async def _begin_pending(request: SiteRequest, account: Account, error: ApiError, path: str) -> HttpResponse:
    """Begin a pending log-in, which gives no rights, and redirect to `path`. A JSON client gets the error instead."""
    cookie = await request.services[PendingLogins].begin(account)
    response = respond_to_error(request, error) if wants_json(request) else SeeOther(path)
    return set_pending_login(response, cookie)


async def waiting_page(request: SiteRequest) -> HttpResponse:
    """Show the state of an application: waiting, approved, or refused with the text of staff."""
    account, joining = await _find_pending(request, is_applicant=True), request.services[JoiningService]
    application = await joining.find_application(AccountId(account.id))
    if application.refusal:
        await joining.mark_refusal_read(account)
    facts = {"handle": account.handle, "state": account.state, "refusal": application.refusal}
    get_token(request)
    return respond(request, "accounts/waiting.html", page=lambda: {"account": account, **facts}, data=lambda: facts)


async def withdraw(request: SiteRequest) -> HttpResponse:
    """Delete an account that waits for approval."""
    account = await _find_pending(request, is_applicant=True)
    if not await request.services[AccountService].withdraw(account_id=AccountId(account.id)):
        if wants_json(request):
            raise Conflict
        return SeeOther(WAITING_PATH)  # staff has approved the account meanwhile
    return set_pending_login(done(request, {}, default="/accounts/login/", message=_("Your account is deleted.")), "")


async def factor_page(request: SiteRequest, error: ApiError | None = None) -> HttpResponse:
    """Show the form of the second step. Without a pending log-in it redirects to the log-in page."""
    account = await _find_pending(request)
    factors = await request.services[FactorService].find(AccountId(account.id))
    page = {"has_passkey": bool(factors.passkeys), "has_totp": factors.totp is not None}
    if error is not None:
        return forms.redisplay_form(
            request, "accounts/factor.html", forms.CodeForm(get_form_data(request)), error, page
        )
    form = forms.CodeForm(initial={"next": request.GET.get("next", "")})
    form.fields["code"].widget.attrs["autofocus"] = not factors.passkeys
    return forms.render_form(request, "accounts/factor.html", form, lambda: page, page)


@shows_errors(factor_page, *forms.FORM_ERRORS)
@sensitive_variables()
async def log_in_with_factor(request: SiteRequest) -> HttpResponse:
    """Finish a pending log-in with a code or a passkey. The response is that of a log-in."""
    account = await _find_pending(request)
    factor = await check_factor(request, FACTOR, AccountId(account.id))
    if not await request.services[PendingLogins].finish(request.COOKIES.get(settings.PENDING_LOGIN_COOKIE_NAME)):
        raise SignInRequired
    return set_pending_login(await _finish_login(request, account, factor), "")


async def _find_pending(request: SiteRequest, *, is_applicant: bool = False) -> Account:
    """Return the account of the pending log-in. Raises SignInRequired.

    An applicant waits, or is approved meanwhile. Any other account may be suspended: its owner reads why after the
    second factor.
    """
    account = await request.services[PendingLogins].find(request.COOKIES.get(settings.PENDING_LOGIN_COOKIE_NAME))
    states = (ACTIVE, WAITING) if is_applicant else (ACTIVE, SUSPENDED)
    if account is None or account.state not in states:
        raise SignInRequired
    return account


@sensitive_variables()
async def log_in_with_passkey(request: SiteRequest) -> HttpResponse:
    """Sign in with a passkey that has verified its user, without a handle and a password.

    The owner of a suspended account reads why, as after the right password.
    """
    services, credential = request.services, get_form_data(request).get("credential", "")
    try:
        account_id = await services[PasskeyService].check(LOGIN, None, credential, request.caller)
        account = await services[AccountService].get(account_id)
        if account.state not in (ACTIVE, SUSPENDED) or account.is_leaving:
            raise errors.PasskeyRefused
    except (errors.AccountNotFound, errors.PasskeyRefused) as error:
        if wants_json(request):
            raise errors.PasskeyRefused from error
        messages.error(request, str(errors.PasskeyRefused.message), fail_silently=True)
        has_next = bool(get_form_data(request).get("next"))
        return redirect_with_next(request, settings.LOGIN_URL) if has_next else SeeOther(settings.LOGIN_URL)
    return await _finish_login(request, account, "passkey")


async def passkey_options(request: SiteRequest) -> HttpResponse:
    """Return the options of navigator.credentials.get() for a log-in, its second step or a step-up."""
    purpose, account_id = get_form_data(request).get("purpose", LOGIN), None
    if purpose == FACTOR:
        account_id = AccountId((await _find_pending(request)).id)
    elif purpose == CONFIRM:
        account_id = require_viewer_id(request)
    else:
        purpose = LOGIN
    return json_response(await request.services[PasskeyService].begin_check(purpose, account_id, request.caller))


async def logout_page(request: SiteRequest) -> HttpResponse:
    """Show the form that logs out. It exists as HTML only: JSON clients must POST."""
    if wants_json(request):
        raise MethodNotAllowed(["POST"])
    return page_response(request, "accounts/logout.html", {})


async def log_out(request: SiteRequest) -> HttpResponse:
    await sign_out(request)
    return clear_storage(done(request, {}, default="/"))


signup = dispatch_by_method(GET=signup_page, POST=sign_up)
signup_check = dispatch_by_method(POST=check_sign_up)
invitation = dispatch_by_method(GET=signup_page)
waiting = dispatch_by_method(GET=waiting_page, POST=withdraw)
login = dispatch_by_method(GET=login_page, POST=log_in)
factor = dispatch_by_method(GET=factor_page, POST=log_in_with_factor)
passkey = dispatch_by_method(POST=log_in_with_passkey)
options = dispatch_by_method(POST=passkey_options)
suspended = dispatch_by_method(POST=appeal_suspended)
logout = dispatch_by_method(GET=logout_page, POST=log_out)
