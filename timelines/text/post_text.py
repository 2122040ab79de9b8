"""What a text must be before it is stored: one form, no hidden bytes, a bounded size.

Sizes are checked before anything is parsed, because normalizing and segmenting cost time. Length is
counted in grapheme clusters (what a reader calls a character), as Intl.Segmenter does in the browser.
Bidi controls stay: right-to-left text needs them. Pages isolate them instead (`<bdi>`, `unicode-bidi`).
"""

import unicodedata

import regex

TEXT_BYTES_CAP = 16_384
"""UTF-8 bytes of any text, before normalization."""

MARKS_PER_CLUSTER_CAP = 8
"""Combining marks on one base. No orthography needs more than about five; taller stacks cover other posts."""

_CONTROL = regex.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NONCHARACTER = regex.compile(r"\p{Noncharacter_Code_Point}")
_VISIBLE = regex.compile(r"[^\s\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]")
_CLUSTER = regex.compile(r"\X")
_MARK = regex.compile(r"\p{M}")


class TextRefused(ValueError):
    """A text that must not be stored; `code` says which rule, forms hold the translated sentences."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def normalize_text(raw: str) -> str:
    """The stored form of `raw`: NFC, LF line ends, no outer white space. Raises TextRefused."""
    _check_encoding(raw)
    text = raw.replace("\r\n", "\n").replace("\r", "\n")
    if _CONTROL.search(text):  # before strip(), which would drop some of them in silence
        raise TextRefused("control", "The text holds control characters.")
    text = unicodedata.normalize("NFC", text).strip()
    if not _VISIBLE.search(text):
        raise TextRefused("empty", "The text is empty.")
    if _has_a_stack(text):
        raise TextRefused("marks", f"More than {MARKS_PER_CLUSTER_CAP} marks stand on one character.")
    return text


def grapheme_count(text: str) -> int:
    """The number of characters as a reader counts them (UAX 29 extended grapheme clusters)."""
    if text.isascii() and "\r" not in text:
        return len(text)
    return sum(1 for _ in _CLUSTER.finditer(text))


def check_post_text(raw: str, max_graphemes: int) -> str:
    """The stored form of a post's text, at most `max_graphemes` long. Raises TextRefused."""
    text = normalize_text(raw)
    count = grapheme_count(text)
    if count > max_graphemes:
        raise TextRefused("too_long", f"The text has {count} characters, {max_graphemes} are allowed.")
    return text


def _check_encoding(raw: str) -> None:
    """Size first: a code point is at least one byte, so long strings are refused without encoding them."""
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


def _has_a_stack(text: str) -> bool:
    """Whether a cluster carries more marks than the cap; short clusters are not looked into."""
    if text.isascii():
        return False
    cap = MARKS_PER_CLUSTER_CAP
    clusters = (match.group() for match in _CLUSTER.finditer(text))
    return any(len(cluster) > cap and len(_MARK.findall(cluster)) > cap for cluster in clusters)
