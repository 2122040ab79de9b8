"""Rules for handles and profile texts: their stored form, their limits, and the message for each broken rule.

A handle is ASCII after NFKC and case folding, so no two handles look alike in different scripts. Texts are stored as
NFC, and their limits count grapheme clusters, which readers call characters. Sizes are checked first, since
normalization is slow. The handle identifies an account. Two accounts may have equal names, but a name contains no
invisible characters and no styled letters (full width, mathematical), which imitate plain letters.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import assert_never
from urllib.parse import urlsplit

import regex
from django.utils.translation import gettext_lazy as _
from msgspec import structs

from accounts import profile_texts
from accounts.addresses import InvalidAddress, normalize_address
from accounts.domain import Preferences
from accounts.errors import FieldErrors
from socialsite import characters
from socialsite.errors import LazyText
from socialsite.languages import LANGUAGE_NAMES, parse_language
from socialsite.site_host import remove_own_host

HANDLE_MAX_LENGTH = 20
RAW_HANDLE_MAX_LENGTH = 100
"""Longer input is rejected before NFKC, which can expand one code point to eighteen."""
BYTES_PER_GRAPHEME_CAP = 32
"""The longest family emoji has 25 bytes. Without this cap, zero-width joiners could make a grapheme of any size."""

HANDLE_ERROR_MESSAGES: Mapping[str, LazyText] = {
    "empty": _("Please choose a handle."),
    "too_long": _("A handle has at most 20 characters."),
    "characters": _("A handle can have only the letters a to z, digits and underscores."),
    "reserved": _("This handle is reserved."),
}

_HANDLE_PATTERN = re.compile(rf"[a-z0-9_]{{1,{HANDLE_MAX_LENGTH}}}")
_RESERVED_HANDLES_FILE = Path(__file__).with_name("reserved_handles.txt")
_FORBIDDEN = regex.compile(r"[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}--\n]", regex.V1)
_DIRECTION_CONTROL = regex.compile(rf"[{characters.DIRECTION_OVERRIDES}\u2066-\u2069]")
"""Embedding, override and isolate controls. A name with them could reorder the words around it."""
_INVISIBLE_IN_NAME = regex.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u200b\u200e\u200f\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    r"\ufff0-\ufff8\U000e0080-\U000e00ff\U000e01f0-\U000e0fff]|(?<![^\x00-\x7f])[\u200c\u200d]++|[\u200c\u200d]++(?![^\x00-\x7f])"
)
"""Invisible characters, with which names that look equal could differ. Joiners between non-ASCII characters stay."""
BLANK = "\u2800"  # the blank sign of Braille: many in a name would push the handle out of sight
_STYLED_LETTERS = regex.compile(r"[[\p{L}&&[\u2100-\u2138]]\uff01-\uffdc\U0001d400-\U0001d7ff]++", regex.VERSION1)
_FORBIDDEN_IN_LINK = regex.compile(rf"[[\s\p{{C}}\p{{Z}}<>\"\\`{{}}^]--[{characters.JOINERS}]]", regex.V1)


class InvalidText(ValueError):
    """The text of a profile breaks a rule. `code` is "empty", "too_long", "characters" or "link"."""

    def __init__(self, code: str) -> None:
        super().__init__(f"text refused: {code}")
        self.code = code


class InvalidHandle(InvalidText):
    """The text is no handle of a new account. `code` is "empty", "too_long", "characters" or "reserved"."""


def parse_new_handle(raw: str, *, allow_reserved: bool = False) -> str:
    """Return the stored form of a handle for a new account. Raises InvalidHandle."""
    handle = normalize_handle(raw.strip().removeprefix("@"))
    if not allow_reserved and is_reserved(handle):
        raise InvalidHandle("reserved")
    return handle


def validate_handle(raw: str, *, allow_reserved: bool = False) -> str:
    """Return the stored form of a handle for a new account. Raises FieldErrors."""
    try:
        return parse_new_handle(raw, allow_reserved=allow_reserved)
    except InvalidHandle as error:
        raise FieldErrors({"handle": HANDLE_ERROR_MESSAGES[error.code]}) from None


def validate_profile_texts(raw: Mapping[str, str]) -> dict[str, str]:
    """Return the stored form of each text, by field. Raises FieldErrors with a message for each invalid field."""
    cleaned: dict[str, str] = {}
    messages: dict[str, LazyText] = {}
    for name, value in raw.items():
        try:
            cleaned[name] = clean_profile_text(profile_texts.PROFILE_TEXTS[name], value)
        except InvalidText as error:
            messages[name] = profile_texts.PROFILE_TEXTS[name].errors[error.code]
        except FieldErrors as error:
            messages |= error.fields
    if messages:
        raise FieldErrors(messages)
    return cleaned


def clean_profile_text(text: profile_texts.ProfileText, raw: str) -> str:
    """Return the stored form of a text. Raises InvalidText, and FieldErrors by the inputs of fields."""
    match text.kind:
        case "name":
            return clean_name(raw, text.limit)
        case "text":
            return clean_text(raw, text.limit)
        case "link" | "moved":
            return clean_link(raw, text.limit)
        case "fields":
            return _clean_fields(text, profile_texts.decode_fields(raw))
        case _:
            assert_never(text.kind)


def _clean_fields(text: profile_texts.ProfileText, raw: Sequence[profile_texts.ProfileField]) -> str:
    """Return the stored form of the fields, each a label and a value or empty. Raises FieldErrors."""
    if len(raw) > profile_texts.FIELDS_CAP:
        raise FieldErrors({text.name: text.errors["too_many"]})
    messages: dict[str, LazyText] = {}
    cleaned: list[profile_texts.ProfileField] = []
    for (name_input, value_input), field in zip(profile_texts.FIELD_INPUTS, raw, strict=False):
        pair = []
        for input, part in ((name_input, field.name), (value_input, field.value)):
            try:
                line = clean_text(_INVISIBLE_IN_NAME.sub("", part), text.limit)
            except InvalidText as error:
                messages[input], line = text.errors[error.code], part
            pair.append(" ".join(line.split()) if characters.VISIBLE.search(line) else "")
        name, value = pair
        if bool(name) != bool(value):
            missing, code = (value_input, "no_value") if name else (name_input, "no_name")
            messages.setdefault(missing, text.errors[code])
        cleaned.append(profile_texts.ProfileField(name, value))
    if messages:
        raise FieldErrors(messages)
    return profile_texts.encode_fields(cleaned)


def validate_languages(preferences: Preferences) -> Preferences:
    """Return the preferences with the codes of their languages. Raises FieldErrors for an unknown language."""
    unknown = _("This is not one of the choices.")
    language = preferences.language and (parse_language(preferences.language) or preferences.language)
    languages = tuple(dict.fromkeys(parse_language(each) or each for each in preferences.languages))
    preferences = structs.replace(preferences, language=language, languages=languages)
    if preferences.language is not None and preferences.language not in LANGUAGE_NAMES:
        raise FieldErrors({"language": unknown})
    if not LANGUAGE_NAMES.keys() >= set(preferences.languages):
        raise FieldErrors({"languages": unknown})
    return preferences


def normalize_handle(raw: str) -> str:
    """Return the stored form of a typed handle. `@name@host` of this site is accepted. Raises InvalidHandle."""
    if not raw:
        raise InvalidHandle("empty")
    if len(raw) > RAW_HANDLE_MAX_LENGTH:
        raise InvalidHandle("too_long")
    handle = remove_own_host(characters.normalize("NFKC", characters.normalize("NFKC", raw).casefold()))
    if not _HANDLE_PATTERN.fullmatch(handle):
        is_too_long = re.fullmatch(r"[a-z0-9_]+", handle) is not None
        raise InvalidHandle("too_long" if is_too_long else "characters")
    return handle


def normalize_login_name(text: str) -> str:
    """Return the normalized handle or mail address, so that all its spellings have one counter."""
    with suppress(InvalidHandle):
        return normalize_handle(text)
    with suppress(InvalidAddress):
        return normalize_address(text).lower()
    return text.lower()


def is_reserved(handle: str) -> bool:
    """Return whether a normalized handle is reserved, ignoring underscores. Sign-up checks this, commands do not."""
    return handle.replace("_", "") in _load_reserved_handles() or not handle.strip("_")


@cache
def _load_reserved_handles() -> frozenset[str]:
    lines = _RESERVED_HANDLES_FILE.read_text("ascii").splitlines()
    return frozenset(re.sub(r"[^a-z0-9]", "", line) for line in lines if line and not line.startswith("#"))


def clean_name(raw: str, max_graphemes: int) -> str:
    """Return the stored form of a display name or the name of an app: one line, NFC. Raises InvalidText."""
    _check_size(raw, max_graphemes)
    if "\n" in raw.strip() or _DIRECTION_CONTROL.search(raw):
        raise InvalidText("characters")
    plain = _STYLED_LETTERS.sub(
        lambda letters: characters.normalize("NFKC", letters.group()), _INVISIBLE_IN_NAME.sub("", raw)
    )
    name = " ".join(clean_text(plain, max_graphemes).replace(BLANK, " ").split())
    if not characters.VISIBLE.search(name):
        raise InvalidText("empty")
    return name


def clean_link(raw: str, max_length: int) -> str:
    """Return the stored form of a link: empty, or an absolute http(s) URL with a host and without a user.

    Raises InvalidText.
    """
    link = raw.strip()
    if len(link) > max_length:
        raise InvalidText("too_long")
    if link and not _is_link(link):
        raise InvalidText("link")
    return link


def _is_link(link: str) -> bool:
    if _FORBIDDEN_IN_LINK.search(link):
        return False
    try:
        parts = urlsplit(link)
        parts.port  # noqa: B018  raises ValueError if the port is not a number
    except ValueError:
        return False
    # With a user part, https://bank.example@evil.example would look like a link to the bank.
    is_host = bool(parts.hostname) and not regex.search(f"[@'|{characters.JOINERS}]", parts.netloc)
    return parts.scheme in ("http", "https") and is_host


def clean_text(raw: str, max_graphemes: int) -> str:
    """Return the stored form of a text of some lines: NFC, LF line ends, without hidden characters.

    Raises InvalidText.
    """
    _check_size(raw, max_graphemes)
    text = raw.replace("\r\n", "\n").replace("\r", "\n")
    if _FORBIDDEN.search(text):
        raise InvalidText("characters")
    text = characters.normalize("NFC", characters.remove_hidden(text)).strip()
    clusters = characters.split_clusters(text)
    if len(clusters) > max_graphemes:
        raise InvalidText("too_long")
    if characters.has_crowded_cluster(clusters):
        raise InvalidText("characters")
    return text


def _check_size(raw: str, max_graphemes: int) -> None:
    """Raise InvalidText if the text is too long. Another rule refuses halves of surrogate pairs."""
    most_bytes = max_graphemes * BYTES_PER_GRAPHEME_CAP
    if len(raw) > most_bytes or len(raw.encode("utf-8", "surrogatepass")) > most_bytes:
        raise InvalidText("too_long")
