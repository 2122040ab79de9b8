"""One's own account: profile, password, sessions, the end."""

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from accounts.domain import AccountId
from accounts.errors import FieldErrors
from accounts.forms import DeleteForm, PasswordForm, SessionForm, SettingsForm
from accounts.presenters import account_json, sessions_json
from accounts.sessions.signing import session_of, sign_out, stay_signed_in
from accounts.view_answers import Correctable, again, checked, done, show
from socialsite.web.limits import take
from socialsite.web.requests import SiteRequest, form_data, methods, respond, viewer_of

SETTINGS, SESSIONS = "/accounts/settings/", "/accounts/sessions/"


async def settings_page(request: SiteRequest) -> HttpResponse:
    account = viewer_of(request)
    form = SettingsForm(initial=_profile(request))
    return show(request, "accounts/settings.html", form, lambda: {"account": account_json(account)})


async def edit_profile(request: SiteRequest) -> HttpResponse:
    """200 with the account as it is then. A field that is not sent stays as it was."""
    account = viewer_of(request)
    form = SettingsForm(_profile(request) | form_data(request))
    try:
        texts = checked(form)
        edited = await request.services.accounts.edit_profile(account_id=AccountId(account.id), **texts)
    except Correctable as error:
        return again(request, "accounts/settings.html", form, error)
    messages.success(request, _("Your profile is saved."), fail_silently=True)
    return done(request, SETTINGS, {"account": account_json(edited)})


async def password_page(request: SiteRequest) -> HttpResponse:
    return show(request, "accounts/password.html", PasswordForm(account=viewer_of(request)))


@sensitive_variables()
async def change_password(request: SiteRequest) -> HttpResponse:
    """Signs out everywhere but here; here goes on in a new token."""
    account = viewer_of(request)
    form = PasswordForm(form_data(request), account=account)
    try:
        fields = checked(form)
        await take(request, "login")
        changed = await request.services.accounts.change_password(
            account=account,
            old=fields["old_password"],
            new=fields["new_password1"],
            keep=session_of(request).session_id,
        )
    except Correctable as error:
        return again(request, "accounts/password.html", form, error)
    await stay_signed_in(request, changed)
    messages.success(request, _("Your password is changed."), fail_silently=True)
    return done(request, SETTINGS, {})


async def sessions_page(request: SiteRequest) -> HttpResponse:
    account_id = AccountId(viewer_of(request).id)
    found = await request.services.sessions.open_sessions(account_id, current=session_of(request).session_id)
    return respond(
        request, "accounts/sessions.html", page=lambda: {"sessions": found}, data=lambda: sessions_json(found)
    )


async def end_session(request: SiteRequest) -> HttpResponse:
    """Ends one session, or all of them, this one too. One that is over already is a success."""
    account_id = AccountId(viewer_of(request).id)
    session_id = checked(SessionForm(form_data(request)))["session"]
    here = session_id in ("all", session_of(request).session_id)
    if session_id == "all":
        await request.services.sessions.end_all(account_id)
    else:
        await request.services.sessions.end(account_id, session_id)
    if here:
        await sign_out(request)
    return done(request, "/" if here else SESSIONS, {})


async def delete_page(request: SiteRequest) -> HttpResponse:
    viewer_of(request)
    return show(request, "accounts/delete.html", DeleteForm())


@sensitive_variables()
async def delete_account(request: SiteRequest) -> HttpResponse:
    account, services = viewer_of(request), request.services
    form = DeleteForm(form_data(request))
    try:
        password = checked(form)["password"]
        await take(request, "login")
        if not await services.accounts.check_password(account, password):
            raise FieldErrors({"password": _("This is not your password.")})
    except Correctable as error:
        return again(request, "accounts/delete.html", form, error)
    await services.accounts.delete(account_id=AccountId(account.id), now_ms=services.clock.now_ms())
    await sign_out(request)
    return done(request, "/", {})


def _profile(request: SiteRequest) -> dict[str, str]:
    account = viewer_of(request)
    return {
        "display_name": account.display_name,
        "bio": account.bio,
        "link": account.link,
        "private": "1" if account.is_private else "0",
    }


settings = methods(GET=settings_page, POST=edit_profile)
password = methods(GET=password_page, POST=change_password)
sessions = methods(GET=sessions_page, POST=end_session)
delete = methods(GET=delete_page, POST=delete_account)
