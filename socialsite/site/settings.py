"""The settings of the site: their fields, their limits, and the environment variables that set them."""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from socialsite.characters import VISIBLE, fold_hashtag, normalize, remove_hidden
from socialsite.errors import Conflict, Invalid, LazyText
from socialsite.ids import parse_id
from socialsite.site.accent import is_readable

DEFAULT_NAME = "Socialsite"
Joining = Literal["open", "approval", "invitation", "closed"]
Audience = Literal["public", "unlisted", "followers"]


class SetByEnvironment(Conflict):
    message = _("The environment of the server sets this. It can only be changed there.")


class SiteSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """The stored settings. Unknown fields are ignored, so that the next release can add some."""

    name: str = ""
    description: str = ""
    contact: str = ""
    rules: tuple[str, ...] = ()
    staff: tuple[str, ...] = ()
    """Handles of the people who are named on the page about the site."""
    accent: str = ""
    logo: str = ""
    """The name of the files of an uploaded picture."""
    welcome: str = ""
    about: str = ""
    privacy: str = ""
    terms: str = ""
    joining: Joining = "open"
    members_only: bool = False
    members_invite: bool = False
    newcomer_days: int = 0
    holds_first_links: bool = False
    blocked_words: tuple[str, ...] = ()
    blocked_hosts: tuple[str, ...] = ()
    blocked_mail_domains: tuple[str, ...] = ()
    held_hashtags: tuple[str, ...] = ()
    allowed_hashtags: tuple[str, ...] = ()
    held_accounts: tuple[str, ...] = ()
    """The ids of accounts that are not suggested, and not in the directory."""
    held_posts: tuple[str, ...] = ()
    """The ids of posts that are not among the popular posts."""
    held_lists: tuple[str, ...] = ()
    """The ids of lists that are not public, whatever their owners choose."""
    reviews_trends: bool = False
    suggests_accounts: bool = True
    default_language: str = ""
    default_audience: Audience = "public"
    about_ms: int = 0
    privacy_ms: int = 0
    terms_ms: int = 0
    """When staff changed the text last (Unix ms)."""

    def shows_trend(self, tag: str) -> bool:
        """Return whether the trends may contain a hashtag."""
        return tag in self.allowed_hashtags if self.reviews_trends else tag not in self.held_hashtags

    @property
    def contact_url(self) -> str:
        """The address of a link to the contact, or "" if it is neither a mail address nor a web address."""
        if self.contact.startswith(("https://", "http://", "mailto:")):
            return self.contact
        return f"mailto:{self.contact}" if "@" in self.contact and " " not in self.contact else ""

    @property
    def title(self) -> str:
        """The name of the site, which is never empty."""
        return self.name or DEFAULT_NAME


UNKNOWN_SETTINGS = SiteSettings(joining="closed", members_only=True)
"""The settings until they were read once: nothing is shown to visitors that a members-only site would hide."""
TEXT_LENGTHS = {
    "name": 40, "description": 500, "contact": 200, "accent": 7, "logo": 60, "welcome": 1_000, "about": 6_000,
    "privacy": 6_000, "terms": 6_000, "default_language": 20,
}  # fmt: skip
"""Field -> maximum number of characters."""
LIST_SIZES = {
    "rules": (100, 300), "blocked_words": (500, 100), "blocked_hosts": (500, 253), "blocked_mail_domains": (500, 253),
    "held_hashtags": (500, 100), "allowed_hashtags": (500, 100), "held_accounts": (500, 20),
    "held_posts": (500, 20), "held_lists": (500, 20),
    "staff": (20, 21),
}  # fmt: skip
"""Field -> maximum number of entries, and of characters of an entry."""
LOWERCASE_LISTS = frozenset({"staff", "blocked_hosts", "blocked_mail_domains"})
HASHTAG_LISTS = frozenset({"held_hashtags", "allowed_hashtags"})
ID_LISTS = frozenset({"held_accounts", "held_posts", "held_lists"})
NEWCOMER_DAYS_MAX = 365
TEXTS = ("about", "privacy", "terms")
FIELDS = tuple(name for name in SiteSettings.__struct_fields__ if not name.endswith("_ms"))
"""The fields that staff and the environment set."""
_ACCENT = re.compile(r"#[0-9a-f]{6}")
_LOGO = re.compile(r"[1-9][0-9]{0,15}-[0-9a-f]{32}")


def apply_changes(settings: SiteSettings, changes: Mapping[str, Any]) -> SiteSettings:
    """Return the settings with cleaned new values. Raises Invalid with a message for each wrong field."""
    cleaned: dict[str, Any] = {}
    errors: dict[str, LazyText] = {}
    for name, value in changes.items():
        try:
            cleaned[name] = _clean(name, value)
        except Invalid as error:
            errors |= error.fields
    if errors:
        raise Invalid(errors)
    return msgspec.convert({**msgspec.to_builtins(settings), **cleaned}, SiteSettings)


def _clean(name: str, value: Any) -> Any:
    if name in LIST_SIZES:
        return _clean_list(name, value)
    if name in TEXT_LENGTHS:
        value = clean_text(value).strip()
        if not VISIBLE.search(value):
            return ""
        if len(value) > TEXT_LENGTHS[name]:
            raise too_long(name, TEXT_LENGTHS[name])
        if name == "accent" and not _ACCENT.fullmatch(value := value.lower()):
            raise Invalid({name: _("A colour is a # and six digits from 0 to f, such as #0b57d0.")})
        if name == "accent" and not is_readable(value):
            raise Invalid({name: _("Text in this colour could not be read on a light page. Choose a darker colour.")})
        if name == "logo" and not _LOGO.fullmatch(value):
            raise Invalid({name: _("This is not one of the choices.")})
        return " ".join(value.split()) if name in {"name", "contact"} else value
    if name == "newcomer_days" and not 0 <= value <= NEWCOMER_DAYS_MAX:
        raise Invalid({name: _("Choose a number of days from 0 to 365.")})
    if name not in FIELDS:
        raise Invalid({name: _("There is no such setting.")})
    try:
        return getattr(msgspec.convert({name: value}, SiteSettings), name)
    except msgspec.ValidationError:
        raise Invalid({name: _("This is not one of the choices.")}) from None


def _clean_list(name: str, values: Any) -> tuple[str, ...]:
    """Return the entries without empty and repeated ones."""
    count, length = LIST_SIZES[name]
    entries = (" ".join(clean_text(each).split()) for each in values)
    if name in LOWERCASE_LISTS:
        entries = (each.lower().lstrip("@") for each in entries)
    if name in HASHTAG_LISTS:
        entries = (fold_hashtag(each).lstrip("#") for each in entries)
    unique = tuple(dict.fromkeys(each for each in entries if VISIBLE.search(each)))
    if len(unique) > count:
        text = ngettext("Write at most %(count)d line.", "Write at most %(count)d lines.", count)
        raise Invalid({name: text % {"count": count}})
    if any(len(each) > length for each in unique):
        raise too_long(name, length)
    if name in ID_LISTS and not all(map(parse_id, unique)):
        raise Invalid({name: _("This is not one of the choices.")})
    return unique


def too_long(name: str, length: int) -> Invalid:
    text = ngettext("Write at most %(count)d character.", "Write at most %(count)d characters.", length)
    if name in LIST_SIZES:
        text = ngettext("A line has at most %(count)d character.", "A line has at most %(count)d characters.", length)
    return Invalid({name: text % {"count": length}})


def clean_text(value: Any) -> str:
    """Return a text as posts have it: normalized, without hidden characters, with "\\n" at the end of lines."""
    text = str(value).replace("\r\n", "\n").replace("\0", "")
    return remove_hidden(normalize("NFC", text))


def parse_environment(variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields that SITE_<FIELD> variables set. In a list, ";" separates the entries.

    Raises ImproperlyConfigured with a sentence that names the variable.
    """
    cleaned_values: dict[str, Any] = {}
    for name in FIELDS:
        text = variables.get(variable := variable_of(name), "").strip()
        if not text:
            continue
        value: object = text.split(";") if name in LIST_SIZES else text
        try:
            if name not in LIST_SIZES and name not in TEXT_LENGTHS:
                value = getattr(msgspec.convert({name: text}, SiteSettings, strict=False), name)
            cleaned_values[name] = _clean(name, value)
        except (msgspec.ValidationError, Invalid):
            raise ImproperlyConfigured(f'{variable} has no valid value: "{text[:80]}".') from None
    return cleaned_values


def variable_of(name: str) -> str:
    """Return the environment variable that sets a field."""
    return f"SITE_{name.upper()}"
