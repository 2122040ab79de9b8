"""Normalizes and validates texts before they are stored.

Sizes are checked first, because normalizing and segmenting a long text takes time. Length is counted in grapheme
clusters, as Intl.Segmenter does in the browser. Bidirectional marks and isolates are allowed, because right-to-left
text needs them, and pages isolate texts (`<bdi>`, `unicode-bidi`). Embeddings, overrides, and tag characters outside of
flags are removed.
"""

import re
from collections.abc import Callable

import regex

from socialsite.characters import (
    MARKS_PER_CLUSTER_CAP,
    VISIBLE,
    has_crowded_cluster,
    normalize,
    remove_hidden,
    split_clusters,
)
from timelines.text.token_scanner import Piece, scan

TEXT_BYTES_CAP = 16_384
"""The maximum size of a text in UTF-8 bytes before normalization."""
LINK_LENGTH, SHORTENED_LINK_CAP = 23, 500
"""A longer link in a post counts as LINK_LENGTH characters, as clients of Mastodon count, unless it exceeds the cap."""

_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
"""The line ends of other programs (Unicode Standard, 5.8). Browsers show most of them as boxes or not at all."""
_CONTROL = regex.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FULL_NAME = re.compile(r"(@\w[\w.-]*)@(?:[\w-]{1,63}\.){1,4}[\w-]{2,24}", re.ASCII)
_NONCHARACTER = regex.compile(r"\p{Noncharacter_Code_Point}")
_INVALID = regex.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\p{Noncharacter_Code_Point}]++")
_MARKS_ABOVE_CAP = regex.compile(rf"(\p{{M}}{{{MARKS_PER_CLUSTER_CAP}}})\p{{M}}++")


class TextRefused(ValueError):
    """The text violates a rule. `code` identifies the rule, and forms show a translated sentence for it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def normalize_text(raw: str) -> str:
    """Return the text in NFC, with LF line ends and without outer white space. Raises TextRefused."""
    _check_encoding(raw)
    text = _LINE_END.sub("\n", raw)
    if _CONTROL.search(text):  # before strip(), which removes some control characters
        raise TextRefused("control", "The text holds control characters.")
    text = normalize("NFC", remove_hidden(text)).strip()
    if not VISIBLE.search(text):
        raise TextRefused("empty", "The text is empty.")
    if not text.isascii() and has_crowded_cluster(split_clusters(text)):
        raise TextRefused("marks", f"More than {MARKS_PER_CLUSTER_CAP} marks stand on one character.")
    return text


def remove_invalid(text: str) -> str:
    """Return a text of another program without the characters for which `normalize_text` refuses a text."""
    without: str = _MARKS_ABOVE_CAP.sub(r"\1", _INVALID.sub("", text))
    return without


def grapheme_count(text: str) -> int:
    """Return the number of extended grapheme clusters (Unicode Standard Annex 29)."""
    if text.isascii() and "\r" not in text:
        return len(text)
    return len(split_clusters(text))


def post_length(text: str) -> int:
    """Return the length of a post in graphemes. A link counts at most LINK_LENGTH, and `@name@host` as `@name`.

    The host may be any host, since clients of Mastodon count all names in this way.
    """
    return grapheme_count("".join(map(_counted_part, scan(text))))


def _counted_part(piece: Piece) -> str:
    if piece.kind == "url" and len(piece.raw) <= SHORTENED_LINK_CAP:
        return piece.raw[:LINK_LENGTH]
    if piece.kind == "mention":
        return piece.raw[: 1 + len(piece.target)]
    return _FULL_NAME.sub(r"\1", piece.raw) if "@" in piece.raw else piece.raw


def check_text(raw: str, max_graphemes: int, length: Callable[[str], int] = grapheme_count) -> str:
    """Return the normalized text. Raises TextRefused, for example above `max_graphemes`."""
    text = normalize_text(raw)
    if len(text) > max_graphemes and (count := length(text)) > max_graphemes:
        raise TextRefused("too_long", f"The text has {count} characters, {max_graphemes} are allowed.")
    return text


def check_post_text(raw: str, max_graphemes: int) -> str:
    """Return the normalized text of a post, in which links count as LINK_LENGTH. Raises TextRefused."""
    return check_text(raw, max_graphemes, post_length)


def _check_encoding(raw: str) -> None:
    """Raise TextRefused if the text is too large or cannot be stored in UTF-8.

    A code point has at least one byte, so long strings are refused without encoding them.
    """
    if len(raw) > TEXT_BYTES_CAP:
        raise TextRefused("too_large", f"The text is larger than {TEXT_BYTES_CAP} bytes.")
    try:
        encoded = raw.encode("utf-8")
    except UnicodeEncodeError:
        raise TextRefused("surrogate", "The text holds half of a surrogate pair.") from None
    if len(encoded) > TEXT_BYTES_CAP:
        raise TextRefused("too_large", f"The text is larger than {TEXT_BYTES_CAP} bytes.")
    if _NONCHARACTER.search(raw):
        raise TextRefused("noncharacter", "The text holds code points that are not characters.")
