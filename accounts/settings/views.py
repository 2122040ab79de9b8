"""One's own account: profile, password, sessions, the end."""

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from accounts.accounts.service import AccountService
from accounts.errors import FieldErrors
from accounts.forms import ChangePasswordForm, DeleteAccountForm, EndSessionForm, SettingsForm
from accounts.presenters import account_json, sessions_json
from accounts.sessions.service import SessionService
from accounts.sessions.signing import get_session, renew_session, sign_out
from accounts.view_answers import (
    FORM_ERRORS,
    action_response,
    redisplay_form,
    render_form,
    require_account,
    validate_form,
)
from socialsite.ids import AccountId
from socialsite.web.limits import enforce_rate_limit
from socialsite.web.requests import SiteRequest, dispatch_by_method, get_form_data, respond

SETTINGS_PATH, SESSIONS_PATH = "/accounts/settings/", "/accounts/sessions/"


async def settings_page(request: SiteRequest) -> HttpResponse:
    account = require_account(request)
    form = SettingsForm(initial=_profile_initial(request))
    return render_form(request, "accounts/settings.html", form, lambda: {"account": account_json(account)})


async def edit_profile(request: SiteRequest) -> HttpResponse:
    """200 with the account as it is then. A field that is not sent stays as it was."""
    account = require_account(request)
    form = SettingsForm(_profile_initial(request) | get_form_data(request))
    try:
        texts = validate_form(form)
        edited = await request.services[AccountService].edit_profile(account_id=AccountId(account.id), **texts)
    except FORM_ERRORS as error:
        return redisplay_form(request, "accounts/settings.html", form, error)
    messages.success(request, _("Your profile is saved."), fail_silently=True)
    return action_response(request, SETTINGS_PATH, {"account": account_json(edited)})


async def password_page(request: SiteRequest) -> HttpResponse:
    return render_form(request, "accounts/password.html", ChangePasswordForm(account=require_account(request)))


@sensitive_variables()
async def change_password(request: SiteRequest) -> HttpResponse:
    """Signs out everywhere but here; here goes on in a new token."""
    account = require_account(request)
    form = ChangePasswordForm(get_form_data(request), account=account)
    try:
        fields = validate_form(form)
        await enforce_rate_limit(request, "login")
        changed = await request.services[AccountService].change_password(
            account=account,
            old=fields["old_password"],
            new=fields["new_password1"],
            keep_session_id=get_session(request).session_id,
        )
    except FORM_ERRORS as error:
        return redisplay_form(request, "accounts/password.html", form, error)
    await renew_session(request, changed)
    messages.success(request, _("Your password is changed."), fail_silently=True)
    return action_response(request, SETTINGS_PATH, {})


async def sessions_page(request: SiteRequest) -> HttpResponse:
    account_id = AccountId(require_account(request).id)
    found = await request.services[SessionService].list_sessions(account_id, current=get_session(request).session_id)
    return respond(
        request, "accounts/sessions.html", page=lambda: {"sessions": found}, data=lambda: sessions_json(found)
    )


async def end_session(request: SiteRequest) -> HttpResponse:
    """Ends one session, or all of them, this one too. One that is over already is a success."""
    account_id = AccountId(require_account(request).id)
    session_id = validate_form(EndSessionForm(get_form_data(request)))["session"]
    here = session_id in ("all", get_session(request).session_id)
    if session_id == "all":
        await request.services[SessionService].end_all(account_id)
    else:
        await request.services[SessionService].end(account_id, session_id)
    if here:
        await sign_out(request)
    return action_response(request, "/" if here else SESSIONS_PATH, {})


async def delete_page(request: SiteRequest) -> HttpResponse:
    require_account(request)
    return render_form(request, "accounts/delete.html", DeleteAccountForm())


@sensitive_variables()
async def delete_account(request: SiteRequest) -> HttpResponse:
    account, services = require_account(request), request.services
    form = DeleteAccountForm(get_form_data(request))
    try:
        password = validate_form(form)["password"]
        await enforce_rate_limit(request, "login")
        if not await services[AccountService].check_password(account, password):
            raise FieldErrors({"password": _("This is not your password.")})
    except FORM_ERRORS as error:
        return redisplay_form(request, "accounts/delete.html", form, error)
    await services[AccountService].delete(account_id=AccountId(account.id), now_ms=services.clock.now_ms())
    await sign_out(request)
    return action_response(request, "/", {})


def _profile_initial(request: SiteRequest) -> dict[str, str]:
    account = require_account(request)
    return {
        "display_name": account.display_name,
        "bio": account.bio,
        "link": account.link,
        "private": "1" if account.is_private else "0",
    }


settings = dispatch_by_method(GET=settings_page, POST=edit_profile)
password = dispatch_by_method(GET=password_page, POST=change_password)
sessions = dispatch_by_method(GET=sessions_page, POST=end_session)
delete = dispatch_by_method(GET=delete_page, POST=delete_account)
