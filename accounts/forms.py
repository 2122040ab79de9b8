"""The forms of the account pages, and how views show them. Forms check passwords; services check other rules."""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, TypeVar, assert_never

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts.accounts.passwords import PASSWORD_MAX_LENGTH, validate_new_password
from accounts.accounts.validation import (
    BYTES_PER_GRAPHEME_CAP,
    HANDLE_ERROR_MESSAGES,
    RAW_HANDLE_MAX_LENGTH,
    InvalidHandle,
    parse_new_handle,
    validate_profile_texts,
)
from accounts.addresses import ADDRESS_MAX_LENGTH, InvalidAddress, normalize_address
from accounts.domain import picture_url
from accounts.errors import FieldErrors, HandleTaken, InvalidCredentials, PasskeyRefused
from accounts.models import Account
from accounts.profile_texts import FIELD_INPUTS, PROFILE_TEXTS, ProfileText
from socialsite.errors import ApiError
from socialsite.web.initial_values import add_hidden_copy
from socialsite.web.middleware.errors import get_error_status
from socialsite.web.requests import SiteRequest, get_form_data, wants_json
from socialsite.web.responses import page_response, respond

NEXT_MAX_LENGTH = 4096
CODE_MAX_LENGTH = 40
INVITATION_MAX_LENGTH = 50
REASON_MIN_LENGTH, REASON_MAX_LENGTH = 20, 1_000  # of an application for an account
ANSWER_MAX_LENGTH = 1_000
INVITATION_NOTE_MAX_LENGTH, INVITATION_USES_CAP = 200, 100
INVITATION_DAYS = {"1": 1, "7": 7, "30": 30}
"""The choices of how long an invitation can be used, and their numbers of days."""
PASSKEY_NAME_MAX_LENGTH = 50
CREDENTIAL_MAX_LENGTH = 12_000  # characters of the JSON that a browser sends about a passkey
HANDLE_INPUT_ATTRS = {"autocapitalize": "none", "autocorrect": "off", "spellcheck": "false", "dir": "ltr"}
Attrs = Mapping[str, str]
NO_ATTRS: Attrs = {}
LINK_INPUT_ATTRS = {"placeholder": "https://", "inputmode": "url", "dir": "ltr"}
PASSWORD_ERRORS: Mapping[str | None, Any] = {
    "password_too_short": _("This password is too short: a password has at least 8 characters."),
    "password_too_common": _("This password is too common."),
    "password_entirely_numeric": _("This password has digits only."),
    "password_too_similar": _("This password is too similar to your handle or name."),
}
"""Texts by the codes of Django's validators, which run in a thread without the language of the request."""


def make_text_field(
    label: Any, max_length: int, help_text: Any = "", *, required: bool = False, rows: int = 0, attrs: Attrs = NO_ATTRS,
    type: type[forms.CharField] = forms.CharField,
) -> forms.CharField:  # fmt: skip
    """Return a field of one line, or of as many rows. `attrs` are attributes of its element."""
    widget = forms.Textarea({"rows": rows, **attrs}) if rows else forms.TextInput(dict(attrs))
    return type(label=label, max_length=max_length, help_text=help_text, required=required, widget=widget)


def make_password_field(label: Any, autocomplete: str, **more: Any) -> forms.CharField:
    """Return a password field that does not strip spaces. Password managers read `autocomplete`."""
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(label=label, strip=False, max_length=PASSWORD_MAX_LENGTH, widget=widget, **more)


def make_handle_field(help_text: Any = "") -> forms.CharField:
    attrs = {"autocomplete": "username", **HANDLE_INPUT_ATTRS}
    return make_text_field(_("Handle"), RAW_HANDLE_MAX_LENGTH, help_text, required=True, attrs=attrs)


def make_new_password_field(label: Any) -> forms.CharField:
    return make_password_field(label, "new-password", help_text=_("At least 8 characters, not a common password."))


def make_repeat_field(label: Any) -> forms.CharField:
    """Return the field of a repeated password. Pages show it only without scripts, which can show the password."""
    field = make_password_field(label, "new-password", required=False)
    field.widget.attrs["required"] = True
    return field


class AddressField(forms.CharField):
    """A field for a mail address, whose value is normalized."""

    widget = forms.EmailInput(attrs={"autocomplete": "email", **HANDLE_INPUT_ATTRS})

    def clean(self, value: Any) -> str:
        try:
            return normalize_address(text) if (text := super().clean(value)) else ""
        except InvalidAddress:
            raise ValidationError(gettext("This is not a mail address.")) from None


def make_address_field(help_text: Any = "", *, required: bool = True) -> AddressField:
    return AddressField(label=_("Mail address"), max_length=ADDRESS_MAX_LENGTH, help_text=help_text, required=required)


def _day_choices() -> list[tuple[str, str]]:
    return [
        (value, ngettext("%(number)d day", "%(number)d days", days) % {"number": days})
        for value, days in INVITATION_DAYS.items()
    ]


class NewPasswordForm(forms.Form):
    """Base of the forms of a new password. Without scripts the password is entered twice.

    `validate_password_form` checks the rules for the password.
    """

    new_password_name, repeat_password_name = "password1", "password2"

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        first, second = cleaned.get(self.new_password_name), self.data.get(self.repeat_password_name)
        if first and second is not None and first != second:
            self.add_error(self.repeat_password_name, gettext("The two passwords differ."))
        return cleaned


class SignUpForm(NewPasswordForm):
    """The form of a new account. It asks for a reason if staff approves new accounts."""

    def __init__(self, *args: Any, asks_reason: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not asks_reason:
            del self.fields["reason"]

    handle = make_handle_field(_("Letters a to z, digits and underscores, at most 20. It cannot be changed later."))
    display_name = make_text_field(
        _("Name"),
        PROFILE_TEXTS["display_name"].limit * BYTES_PER_GRAPHEME_CAP,
        _("How others see you. You may leave it empty."),
        attrs={"autocomplete": "nickname", "dir": "auto"},
    )
    address = make_address_field(_("To reset a forgotten password. Nobody else sees it."), required=False)
    password1 = make_new_password_field(_("Password"))
    password2 = make_repeat_field(_("Password again"))
    reason = forms.CharField(
        label=_("Why do you want to join?"),
        min_length=REASON_MIN_LENGTH,
        max_length=REASON_MAX_LENGTH,
        help_text=_("20 to 1,000 characters. The people who run this site read it before you can join."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    invitation = forms.CharField(required=False, max_length=INVITATION_MAX_LENGTH, widget=forms.HiddenInput)

    def clean_address(self) -> str:
        address: str = self.cleaned_data["address"]
        if settings.MAIL_REQUIRED and not address:
            raise ValidationError(gettext("This site needs a mail address."))
        return address

    def clean_handle(self) -> str:
        """Check the handle here, too, so that the page shows all errors at once. Return the handle unchanged."""
        handle: str = self.cleaned_data["handle"]
        try:
            parse_new_handle(handle)
        except InvalidHandle as error:
            raise ValidationError(str(HANDLE_ERROR_MESSAGES[error.code]), error.code) from None
        return handle

    def clean_display_name(self) -> str:
        """Check the name here, too, because the rules for passwords compare the password with the name."""
        name: str = self.cleaned_data["display_name"]
        try:
            return validate_profile_texts({"display_name": name})["display_name"] if name.strip() else ""
        except FieldErrors as error:
            raise ValidationError(str(error.fields["display_name"])) from None


class InvitationForm(forms.Form):
    uses = forms.IntegerField(
        label=_("For how many people"),
        min_value=1,
        max_value=INVITATION_USES_CAP,
        initial=1,
        help_text=_("1 to 100."),
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), _("Enter a number from 1 to 100.")),
    )
    days = forms.ChoiceField(label=_("Can be used for"), choices=_day_choices, initial="7")
    note = make_text_field(
        _("Note"),
        INVITATION_NOTE_MAX_LENGTH,
        _("For example who it is for. Only you and the people who run this site see it."),
    )


class NextForm(forms.Form):
    next = forms.CharField(required=False, max_length=NEXT_MAX_LENGTH, widget=forms.HiddenInput)


class LoginForm(NextForm):
    username = make_text_field(
        _("Handle or mail address"),
        ADDRESS_MAX_LENGTH,
        required=True,
        attrs={"autocomplete": "username webauthn", **HANDLE_INPUT_ATTRS},
    )
    password = make_password_field(_("Password"), "current-password")
    keep = forms.BooleanField(label=_("Keep my account"), required=False, widget=forms.HiddenInput)
    """Takes the requested deletion back. It is shown after a log-in to such an account."""

    def clean_username(self) -> str:
        return str(self.cleaned_data["username"]).removeprefix("@")


class ChangePasswordForm(NewPasswordForm):
    new_password_name, repeat_password_name = "new_password1", "new_password2"

    old_password = make_password_field(_("Current password"), "current-password")
    new_password1 = make_new_password_field(_("New password"))
    new_password2 = make_repeat_field(_("New password again"))


class SettingsForm(forms.Form):
    """The settings of an account.

    The page has a hidden copy of each field, so that only changed fields are written (`get_changed_fields`). The page
    shows the avatar and the header of the account.
    """

    def __init__(self, *args: Any, account: Account, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        inputs = map(make_profile_inputs, PROFILE_TEXTS.values())
        self.fields = dict(chain.from_iterable(each.items() for each in inputs)) | self.fields
        self.account = account
        self.header_url = picture_url(account.header, "small")
        for field in self.fields.values():
            add_hidden_copy(field)

    group = PROFILE_TEXTS["fields"]
    group_start, group_end = FIELD_INPUTS[0][0], FIELD_INPUTS[-1][1]

    private = forms.TypedChoiceField(
        label=_("Who sees your posts"),
        choices=[("0", _("Everyone")), ("1", _("Private: only followers you accept"))],
        coerce=lambda value: value == "1",
        help_text=_(
            "If private, people must ask to follow you. Current followers stay. "
            "If you go public again, open requests stay open."
        ),
    )
    discoverable = forms.TypedChoiceField(
        label=_("Who finds your account"),
        choices=[("1", _("Everyone")), ("0", _("Only your followers"))],
        coerce=lambda value: value == "1",
        help_text=_(
            "If only your followers find it, other people need the address of your profile, "
            "and it is suggested to nobody."
        ),
    )


class LinkField(forms.CharField):
    """A field for a web address. A host name is completed."""

    def clean(self, value: Any) -> str:
        return complete_link(super().clean(value))


def make_profile_inputs(text: ProfileText) -> dict[str, forms.Field]:
    match text.kind:
        case "name" | "text":
            more: Any = {"required": text.kind == "name", "rows": text.rows}
            more["attrs"] = {"dir": "auto"} if text.rows else NO_ATTRS
            return {text.name: make_text_field(text.label, text.limit * BYTES_PER_GRAPHEME_CAP, text.hint, **more)}
        case "link" | "moved":
            more = {"attrs": LINK_INPUT_ATTRS, "type": LinkField}
            return {text.name: make_text_field(text.label, text.limit, text.hint, **more)}
        case "fields":
            labels = gettext("Label %(number)d"), gettext("Content %(number)d")
            return {
                name: make_text_field(
                    label % {"number": number}, text.limit * BYTES_PER_GRAPHEME_CAP, attrs={"dir": "auto"}
                )
                for number, names in enumerate(FIELD_INPUTS, 1)
                for name, label in zip(names, labels, strict=True)
            }
        case _:
            assert_never(text.kind)


def complete_link(typed: str) -> str:
    """Complete a host name to a web address."""
    link = typed.strip()
    return f"https://{link}" if "." in link and "://" not in link else link


class DeleteAccountForm(forms.Form):
    password = make_password_field(_("Password"), "current-password")


def make_code_field() -> forms.CharField:
    """Return a field for a code of an app or a recovery code."""
    attrs = {"autocomplete": "one-time-code", **HANDLE_INPUT_ATTRS}
    return make_text_field(_("Code"), CODE_MAX_LENGTH, required=True, attrs=attrs)


class ConfirmForm(NextForm):
    password = make_password_field(_("Password"), "current-password")


class CodeForm(NextForm):
    code = make_code_field()


class TotpForm(forms.Form):
    setup = forms.CharField(max_length=400, widget=forms.HiddenInput)
    code = make_code_field()


class PasskeyForm(forms.Form):
    name = make_text_field(
        _("Name"), PASSKEY_NAME_MAX_LENGTH, _("For example the device on which the passkey is stored."), required=True
    )
    credential = forms.CharField(max_length=CREDENTIAL_MAX_LENGTH, widget=forms.HiddenInput)


class EndSessionForm(forms.Form):
    session = forms.RegexField(r"^(all|[0-9a-f]{64})\Z", label=_("Session"), widget=forms.HiddenInput)


# Functions of views that show the forms

Page = Mapping[str, object]
Choice = TypeVar("Choice", bound=str)
FORM_ERRORS = (FieldErrors, HandleTaken, InvalidCredentials, PasskeyRefused)
"""The errors that the viewer can correct in the form."""


def parse_choice(name: str, text: str | None, choices: Iterable[Choice]) -> Choice:
    """Return the choice that the field contains. Raises FieldErrors."""
    for choice in choices:
        if choice == text:
            return choice
    raise FieldErrors({name: gettext("This is not one of the choices.")})


def validate_form(form: forms.Form) -> dict[str, Any]:
    """Return the values of the form. Raises FieldErrors with one message per field."""
    if form.is_valid():
        return form.cleaned_data
    raise FieldErrors({name: " ".join(map(str, texts)) for name, texts in form.errors.items()})


async def validate_password_form(
    form: NewPasswordForm, account: Account | None = None, *, is_known: bool
) -> dict[str, Any]:
    """Call `validate_form`, and check the rules for the new password in a thread. Raises FieldErrors, PasswordsBusy.

    The password must not resemble the names of the account, or the names in the form if `account` is None.
    """
    form.is_valid()
    names = {name: form.cleaned_data.get(name, "") for name in ("handle", "display_name")}
    password = form.cleaned_data.get(form.new_password_name)
    if password:
        try:
            await validate_new_password(password, account or Account(**names), is_known=is_known)
        except ValidationError as error:
            faults = [ValidationError(PASSWORD_ERRORS.get(each.code, each), each.code) for each in error.error_list]
            form.add_error(form.new_password_name, ValidationError(faults))
    return validate_form(form)


def render_form(
    request: SiteRequest, template: str, form: forms.Form, data: Callable[[], object] = dict, page: Page | None = None
) -> HttpResponse:
    """Return a page with the form and `page`, or the result of `data` as JSON. Both set the CSRF cookie."""
    get_token(request)
    return respond(request, template, page=lambda: {"form": form, **(page or {})}, data=data)


def show_form(
    request: SiteRequest, template: str, form: type[forms.Form], error: ApiError | None, page: Page, **data: Any
) -> HttpResponse:
    """Return the submitted form and its error (`redisplay_form`), or without an error an empty form (`render_form`)."""
    if error is not None:
        return redisplay_form(request, template, form(get_form_data(request)), error, page)
    return render_form(request, template, form(), page=page, **data)


def redisplay_form(
    request: SiteRequest, template: str, form: forms.Form, error: ApiError, page: Page | None = None
) -> HttpResponse:
    """Return the submitted form with its errors, and the focus on the first. A JSON client gets the error itself.

    Passwords are not sent back, so the fields of accepted passwords ask for them again.
    """
    if wants_json(request):
        raise error
    messages: Mapping[str, Any] = error.fields or {"": error.message}
    for name, message in messages.items():
        if name not in form.errors:
            form.add_error(name if name in form.fields else None, str(message))
    for field in form.visible_fields():
        if isinstance(field.field.widget, forms.PasswordInput) and field.data and not field.errors:
            field.field.help_text = gettext("Type your password again.")
            field.help_text = field.field.help_text
    wrong = [field for field in form.visible_fields() if field.errors] or form.visible_fields()[-1:]
    wrong[0].field.widget.attrs["autofocus"] = True
    return page_response(request, template, {"form": form, **(page or {})}, get_error_status(error))
