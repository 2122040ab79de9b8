"""The free texts of a profile: name, bio, link. One normal form, no hidden bytes, a bounded size.

Length is counted in grapheme clusters, what a reader calls a character. Sizes are checked before anything
is parsed, since normalizing and segmenting cost time.
"""

import unicodedata
from urllib.parse import urlsplit

import regex

NAME_MAX_GRAPHEMES = 50  # graphemes
BIO_MAX_GRAPHEMES = 500  # graphemes
LINK_MAX_LENGTH = 300  # code points
BYTES_PER_GRAPHEME_CAP = 32
"""Enough for the longest family emoji (25 bytes); zero-width joiners alone could make one without end."""
MARKS_PER_CLUSTER_CAP = 8
"""Combining marks on one base; stacks of dozens would draw over the lines above."""

_CLUSTER = regex.compile(r"\X")
_COMBINING_MARK = regex.compile(r"\p{M}")
_VISIBLE = regex.compile(r"[^\s\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]")
_FORBIDDEN = regex.compile(r"[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}--\n]", regex.V1)
_DIRECTION_CONTROL = regex.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""Embedding, override, isolate controls: in a name they could reorder the words around it."""
_NOT_IN_A_LINK = regex.compile(r"[\s\p{C}\p{Z}<>\"'\\`{}|^]")


class InvalidText(ValueError):
    """`code`: "empty", "too_long", "characters" or "link"."""

    def __init__(self, code: str) -> None:
        super().__init__(f"text refused: {code}")
        self.code = code


def clean_name(raw: str) -> str:
    """A display name as stored: one line, NFC, 1 to 50 graphemes. Raises TextRefused."""
    name = " ".join(_clean_text(raw, NAME_MAX_GRAPHEMES).split())
    if "\n" in raw.strip() or _DIRECTION_CONTROL.search(name):
        raise InvalidText("characters")
    if not _VISIBLE.search(name):
        raise InvalidText("empty")
    return name


def clean_bio(raw: str) -> str:
    """A bio as stored: NFC, LF line ends, at most 500 graphemes, may be empty. Raises TextRefused."""
    return _clean_text(raw, BIO_MAX_GRAPHEMES)


def clean_link(raw: str) -> str:
    """A link as stored: absolute http or https with a host and no user, or empty. Raises TextRefused."""
    link = raw.strip()
    if len(link) > LINK_MAX_LENGTH:
        raise InvalidText("too_long")
    if link and not _is_link(link):
        raise InvalidText("link")
    return link


def _is_link(link: str) -> bool:
    if _NOT_IN_A_LINK.search(link):
        return False
    try:
        parts = urlsplit(link)
        parts.port  # noqa: B018  raises where the port is no number
    except ValueError:
        return False
    # A user part makes https://bank.example@evil.example look like the bank's.
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc


def _clean_text(raw: str, cap: int) -> str:
    if len(raw) > cap * BYTES_PER_GRAPHEME_CAP:
        raise InvalidText("too_long")
    text = raw.replace("\r\n", "\n").replace("\r", "\n")
    if _FORBIDDEN.search(text):
        raise InvalidText("characters")
    text = unicodedata.normalize("NFC", text).strip()
    clusters = _CLUSTER.findall(text)
    if len(clusters) > cap or len(text.encode()) > cap * BYTES_PER_GRAPHEME_CAP:
        raise InvalidText("too_long")
    if any(len(_COMBINING_MARK.findall(cluster)) > MARKS_PER_CLUSTER_CAP for cluster in clusters):
        raise InvalidText("characters")
    return text
