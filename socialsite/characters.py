"""Unicode normalization, grapheme clusters, and characters that deceive readers. All functions take linear time.

CPython sorts the combining marks of one character by insertion, which takes quadratic time. So long runs of marks are
cut before normalization. The site accepts no text with such a run.
"""

import unicodedata
from typing import Literal

import regex

MARKS_PER_CLUSTER_CAP = 8
"""Maximum combining marks on one base character. No orthography needs more than about five; more cover other text."""
CLUSTER_LENGTH_CAP = 16
"""Maximum code points of one grapheme cluster. The longest emoji has 10, but joiners allow a cluster of any length."""
MARK_RUN_LENGTH = 32
"""Maximum number of successive combining marks that `normalize` keeps."""

VISIBLE = regex.compile(r"[^\s\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]")
DIRECTION_OVERRIDES = r"\u202a-\u202e"
"""Embedding and override controls, which can reverse the text around them. Legitimate texts can use isolates."""
JOINERS = r"\u00ad\u200c\u200d\u2060"
"""Invisible characters inside words, which the path of a URL may have (RFC 3987, 2.2)."""

# Characters that are combining marks, or whose decomposition starts with a combining mark.
_REORDERED = r"[\P{ccc=0}\u0f73\u0f75\u0f81\uff9e\uff9f]"
_LONG_MARK_RUN = regex.compile(rf"({_REORDERED}{{{MARK_RUN_LENGTH}}}){_REORDERED}++", regex.VERSION1)
# `\X` alone counts all regional indicators before each boundary, which is quadratic. So pairs are matched first.
_CLUSTER = regex.compile(r"\p{RI}{2}[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]*+|\X", regex.VERSION1)
_MARK = regex.compile(r"\p{M}")
# A tag character is invisible. It has a meaning only in the flag of a region, after the black flag.
_HIDDEN = regex.compile(
    rf"(\U0001f3f4[\U000e0030-\U000e007a]{{1,6}}\U000e007f)|[{DIRECTION_OVERRIDES}\U000e0000-\U000e007f]++"
)

_EASTERN_DIGITS = "".join(map(chr, (*range(0x660, 0x66A), *range(0x6F0, 0x6FA))))
_EQUAL_LETTERS = str.maketrans(
    f"ı\u06a9\u06cc\u06c1\u2018\u2019\u201c\u201d\u201e\u2010{_EASTERN_DIGITS}",
    'i\u0643\u064a\u0647\'\'"""-' + "0123456789" * 2,
)

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]


def normalize(form: Form, text: str) -> str:
    """Return the text in a normalization form. Runs of more than MARK_RUN_LENGTH combining marks are cut."""
    if text.isascii():
        return text
    return unicodedata.normalize(form, _LONG_MARK_RUN.sub(r"\1", text))


def fold_case(text: str) -> str:
    """Return the text in NFKC and case-folded, with equal letters for those that keyboards type in two ways."""
    return normalize("NFKC", fold_letters(normalize("NFKC", text).casefold()))


def fold_letters(text: str) -> str:
    """Return a case-folded text with one letter for those that keyboards of one alphabet type in two ways.

    Turkic İ and ı are i, because Unicode has no folding for all languages. Persian kaf and yeh, and Urdu heh, are the
    Arabic letters, digits of Arabic and Persian are European, quotes and the apostrophe are straight, and the hyphen is
    the minus sign.
    """
    return text.translate(_EQUAL_LETTERS).replace("i\u0307", "i")


def fold_hashtag(raw: str) -> str:
    """Return the form in which a hashtag is stored and compared: NFKC, case-folded, without joiners at its ends."""
    if raw.isascii():
        return raw.lower()
    # In Japanese text the full-width tilde is a wave dash; NFKC would convert it to "~".
    return fold_case(raw.replace("\uff5e", "\u301c")).strip("\u200c\u200d")


def split_clusters(text: str) -> list[str]:
    """Return the extended grapheme clusters (Unicode Standard Annex 29)."""
    clusters: list[str] = _CLUSTER.findall(text)
    return clusters


def shorten(text: str, max_length: int) -> str:
    """Return the text, or its first `max_length` characters at most, in whole grapheme clusters, and an ellipsis."""
    if len(text) <= max_length:
        return text
    *whole, _ = split_clusters(text[: max_length + 1])
    return "".join(whole).rstrip() + "…"


def has_crowded_cluster(clusters: list[str]) -> bool:
    """Return whether a cluster has more marks or more code points than its cap."""
    return any(
        len(cluster) > MARKS_PER_CLUSTER_CAP
        and (len(cluster) > CLUSTER_LENGTH_CAP or len(_MARK.findall(cluster)) > MARKS_PER_CLUSTER_CAP)
        for cluster in clusters
    )


def remove_hidden(text: str) -> str:
    """Return the text without direction overrides and without tag characters outside of flags."""
    return text if text.isascii() else str(_HIDDEN.sub(lambda match: match[1] or "", text))


_SCRIPTS = (
    "Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Hebrew Kannada Khmer Lao "
    "Malayalam Myanmar Oriya Sinhala Tamil Telugu Thai"
)
_READABLE_LABEL = regex.compile(
    r"[[a-z\u00df-\u017f]--[\u0131\u0138\u017f]0-9_-]+"
    r"|[\p{Han}\p{Hiragana}\p{Katakana}\u30fca-z0-9_-]+|[\p{Han}\p{Hangul}a-z0-9_-]+|"
    + "|".join(rf"[\p{{{script}}}\p{{M}}0-9_-]+" for script in _SCRIPTS.split()),
    regex.VERSION1,
)
"""A label in one script. A mixture, such as Cyrillic letters in a Latin name, can imitate another host."""
_LATIN_LOOK_ALIKES = regex.compile(r"[асԁеһіјӏорԛѕԝхуъьпгѵѡҽαικνορυωγցզհոսօ0-9_-]+")
_HOST = regex.compile(r"^((?:[a-zA-Z]+://)?+)([^/?#:]+)")


def readable_url(url: str) -> str:
    """Return a URL (with or without scheme) for display, with a host that cannot imitate another host."""
    display_url: str = url if url.isascii() else _HOST.sub(lambda match: match[1] + _readable_host(match[2]), url)
    return display_url


def _readable_host(host: str) -> str:
    """Return the host. Labels that can imitate other labels are written in Punycode (RFC 3492)."""
    labels = host.split(".")
    has_ascii_end = labels[-1].isascii()
    return ".".join(label if _is_readable(label, has_ascii_end) else _to_punycode(label) for label in labels)


def _is_readable(label: str, has_ascii_end: bool) -> bool:
    label = label.lower()
    if label.isascii():
        return True
    return bool(_READABLE_LABEL.fullmatch(label)) and not (has_ascii_end and _LATIN_LOOK_ALIKES.fullmatch(label))


def _to_punycode(label: str) -> str:
    return "xn--" + normalize("NFKC", label.lower()).encode("punycode").decode()
