"""The pages on which users change their own account: profile, password, sessions, deletion."""

import re
from typing import Any

from django.conf import settings as django_settings
from django.http import HttpResponse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables
from msgspec import structs

from accounts import forms
from accounts.accounts.service import AccountService
from accounts.domain import QUOTE_POLICIES
from accounts.mail.service import MailService
from accounts.presenters import account_json, preferences_json
from accounts.profile_texts import PROFILE_TEXTS, split_texts
from accounts.security.events import SecurityEvents
from accounts.sessions.authentication import (
    check_own_password,
    clear_storage,
    get_session,
    renew_session,
    require_account,
    sign_out,
)
from accounts.sessions.service import SessionService
from accounts.settings.security import read_sessions
from socialsite.errors import ApiError
from socialsite.ids import AccountId
from socialsite.languages import LANGUAGE_NAMES
from socialsite.web.middleware.errors import shows_errors
from socialsite.web.requests import (
    SiteRequest,
    dispatch_by_method,
    get_changed_fields,
    get_form_data,
    require_viewer_id,
)
from socialsite.web.responses import done, respond

SETTINGS_PATH, SESSIONS_PATH, PREFERENCES_PATH = "/accounts/settings/", "/accounts/sessions/", "/accounts/preferences/"


async def overview_page(request: SiteRequest) -> HttpResponse:
    account = require_account(request)
    page = {"page_title": _("Settings")}
    return respond(request, "accounts/index.html", page=lambda: page, data=lambda: {"account": account_json(account)})


async def settings_page(request: SiteRequest) -> HttpResponse:
    account = require_account(request)
    form = forms.SettingsForm(initial=_profile_initial(request), account=account)
    return forms.render_form(request, "accounts/settings.html", form, lambda: {"account": account_json(account)})


async def edit_profile(request: SiteRequest) -> HttpResponse:
    """Change the profile. The response is 200 with the edited account.

    A field is written only if the request contains it, with a value that differs from the one that the page showed.
    """
    account, form, accounts = require_account(request), bind_profile_form(request), request.services[AccountService]
    changed, account_id = get_changed_fields(request), AccountId(account.id)
    try:
        values = forms.validate_form(form)
        private, discoverable = (values[name] if name in changed else None for name in ("private", "discoverable"))
        inputs = _profile_initial(request) | {name: value for name, value in values.items() if name in changed}
        texts = {
            text.name: text.join(inputs) for text in PROFILE_TEXTS.values() if text.split("").keys() & changed.keys()
        }
        edited = await accounts.edit_profile(account_id=account_id, private=private, caller=request.caller, **texts)
        if discoverable is not None:
            await accounts.change_preferences(
                account_id=account_id, change=lambda old: structs.replace(old, is_discoverable=discoverable)
            )
            edited = await accounts.get(account_id)
    except forms.FORM_ERRORS as error:
        return forms.redisplay_form(request, "accounts/settings.html", form, error)
    return done(request, {"account": account_json(edited)}, default=SETTINGS_PATH, message=_("Your profile is saved."))


def bind_profile_form(request: SiteRequest) -> forms.SettingsForm:
    """Return the form with the sent values. A field that was not sent has its current value."""
    shown = _profile_initial(request)
    fields = {f"initial-{name}": shown[name] for name in shown} | shown | get_form_data(request)
    return forms.SettingsForm(fields, account=require_account(request))


async def preferences_page(request: SiteRequest) -> HttpResponse:
    """Show the choices of the viewer for reading and writing posts."""
    chosen = require_account(request).preferences
    return respond(
        request,
        "accounts/preferences.html",
        page=lambda: {"chosen": chosen, "language_names": LANGUAGE_NAMES, **_sort_languages(request, chosen.languages)},
        data=lambda: preferences_json(chosen),
    )


def _sort_languages(request: SiteRequest, chosen: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Return the languages that the viewer chose or may read, and the others."""
    accepted = re.findall(r"\b[a-z]{2,3}\b", request.META.get("HTTP_ACCEPT_LANGUAGE", "")[:200].lower())
    near = dict.fromkeys((*chosen, get_language(), *accepted, *(code for code, _name in django_settings.LANGUAGES)))
    return {
        "near_languages": {code: LANGUAGE_NAMES[code] for code in near if code in LANGUAGE_NAMES},
        "other_languages": {code: name for code, name in LANGUAGE_NAMES.items() if code not in near},
    }


async def edit_preferences(request: SiteRequest) -> HttpResponse:
    """Change the submitted preferences. Absent fields stay. Raises Invalid."""
    fields, changes = get_form_data(request), dict[str, Any]()
    if "open_warnings" in fields:
        changes["opens_warnings"] = forms.parse_choice("open_warnings", fields["open_warnings"], ("0", "1")) == "1"
    if "show_replies" in fields:
        changes["shows_replies"] = forms.parse_choice("show_replies", fields["show_replies"], ("0", "1")) == "1"
    if "quote_policy" in fields:
        changes["quote_policy"] = forms.parse_choice("quote_policy", fields["quote_policy"], QUOTE_POLICIES)
    if "language" in fields:
        changes["language"] = fields["language"] or None
    if languages := fields.values_of("languages"):  # the page also sends an empty value, so that none can be chosen
        changes["languages"] = tuple(dict.fromkeys(filter(None, languages)))
    chosen = await request.services[AccountService].change_preferences(
        account_id=require_viewer_id(request), change=lambda old: structs.replace(old, **changes)
    )
    message = "" if "show_replies" in fields else _("Your choices are saved.")  # the public timeline shows it
    return done(request, preferences_json(chosen), default=PREFERENCES_PATH, message=message)


async def password_page(request: SiteRequest, error: ApiError | None = None) -> HttpResponse:
    require_account(request)
    return forms.show_form(request, "accounts/password.html", forms.ChangePasswordForm, error, {})


@shows_errors(password_page, *forms.FORM_ERRORS)
@sensitive_variables()
async def change_password(request: SiteRequest) -> HttpResponse:
    """End all other sessions, and continue this session with a new token."""
    account, form = require_account(request), forms.ChangePasswordForm(get_form_data(request))
    fields = await forms.validate_password_form(form, account, is_known=True)
    changed = await request.services[AccountService].change_password(
        account=account,
        old=fields["old_password"],
        new=fields["new_password1"],
        keep_session_id=get_session(request).session_id,
        caller=request.caller,
    )
    await renew_session(request, changed)
    return done(request, {}, default=SETTINGS_PATH, message=_("Your password is changed."))


async def sessions_page(request: SiteRequest) -> HttpResponse:
    page, data = await read_sessions(request)
    return respond(request, "accounts/sessions.html", page=lambda: page, data=lambda: data)


async def end_session(request: SiteRequest) -> HttpResponse:
    """End one session or access token, or all of them, including the viewer's own session.

    It is no error if the session has ended before.
    """
    account_id = require_viewer_id(request)
    session_id = forms.validate_form(forms.EndSessionForm(get_form_data(request)))["session"]
    is_own = session_id in ("all", get_session(request).session_id)
    if session_id == "all":
        await request.services[SessionService].end_all(account_id)
        await request.services[MailService].forget_pending(account_id)
        await request.services[SecurityEvents].record(account_id, "sessions_ended", request.caller)
    else:
        await request.services[SessionService].end(account_id, session_id)
    if is_own:
        await sign_out(request)
    return clear_storage(done(request, {}, default="/")) if is_own else done(request, {}, default=SESSIONS_PATH)


async def delete_page(request: SiteRequest, error: ApiError | None = None) -> HttpResponse:
    require_account(request)
    page = {"grace_days": django_settings.DELETION_GRACE_DAYS}
    return forms.show_form(request, "accounts/delete.html", forms.DeleteAccountForm, error, page)


@shows_errors(delete_page, *forms.FORM_ERRORS)
@sensitive_variables()
async def delete_account(request: SiteRequest) -> HttpResponse:
    account, services = require_account(request), request.services
    await check_own_password(request, forms.validate_form(forms.DeleteAccountForm(get_form_data(request)))["password"])
    delete_ms = await services[AccountService].request_deletion(account_id=AccountId(account.id))
    await sign_out(request)
    if delete_ms:
        await services[SecurityEvents].record(AccountId(account.id), "deletion_requested", request.caller)
        await services[MailService].notify_if_available(AccountId(account.id), "deletion_requested")
    text = _("Your account is hidden, and will be deleted. To keep it, log in.") if delete_ms else ""
    return clear_storage(done(request, {}, default="/", message=text or _("Your account is deleted.")))


def _profile_initial(request: SiteRequest) -> dict[str, str]:
    account = require_account(request)
    return {
        **split_texts({text.name: value for text, value in account.texts.items()}),
        "private": "1" if account.is_private else "0",
        "discoverable": "1" if account.preferences.is_discoverable else "0",
    }


overview = dispatch_by_method(GET=overview_page)
preferences = dispatch_by_method(GET=preferences_page, POST=edit_preferences)
password = dispatch_by_method(GET=password_page, POST=change_password)
sessions = dispatch_by_method(GET=sessions_page, POST=end_session)
delete = dispatch_by_method(GET=delete_page, POST=delete_account)
