"""The words of a refused input: which sentence stands beside which field."""

from collections.abc import Callable, Mapping

from django.utils.translation import gettext_lazy as _

from accounts import handles, text
from accounts.errors import FieldErrors
from socialsite.errors import LazyText

HANDLE_ERROR_MESSAGES: Mapping[str, LazyText] = {
    "empty": _("Please choose a handle."),
    "too_long": _("A handle has at most 20 characters."),
    "characters": _("A handle is made of the letters a to z, digits and underscores."),
    "reserved": _("This handle is reserved."),
}
TEXT_ERROR_MESSAGES: Mapping[str, Mapping[str, LazyText]] = {
    "display_name": {
        "empty": _("Please enter a name."),
        "too_long": _("A name has at most 50 characters."),
        "characters": _("This name has characters that cannot be shown."),
    },
    "bio": {
        "too_long": _("A bio has at most 500 characters."),
        "characters": _("This bio has characters that cannot be shown."),
    },
    "link": {
        "too_long": _("A link has at most 300 characters."),
        "link": _("Enter a web address that starts with https:// or http://."),
    },
}
TEXT_CLEANERS: Mapping[str, Callable[[str], str]] = {
    "display_name": text.clean_name,
    "bio": text.clean_bio,
    "link": text.clean_link,
}


def validate_handle(raw: str, *, allow_reserved: bool = False) -> str:
    """The stored form of a handle for a new account. Raises FieldErrors."""
    try:
        handle = handles.normalize_handle(raw.strip().removeprefix("@"))
    except handles.InvalidHandle as error:
        raise FieldErrors({"handle": HANDLE_ERROR_MESSAGES[error.code]}) from None
    if not allow_reserved and handles.is_reserved(handle):
        raise FieldErrors({"handle": HANDLE_ERROR_MESSAGES["reserved"]})
    return handle


def validate_profile_texts(raw: Mapping[str, str]) -> dict[str, str]:
    """The stored form of the profile's texts, by field. Raises FieldErrors with all that is wrong."""
    cleaned: dict[str, str] = {}
    wrong: dict[str, LazyText] = {}
    for name, value in raw.items():
        try:
            cleaned[name] = TEXT_CLEANERS[name](value)
        except text.InvalidText as error:
            wrong[name] = TEXT_ERROR_MESSAGES[name][error.code]
    if wrong:
        raise FieldErrors(wrong)
    return cleaned
