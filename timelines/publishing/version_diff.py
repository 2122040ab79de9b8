"""Compares the versions of a post word by word (difflib), for the page of its history."""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

import regex
from django.utils.html import format_html
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.domain import Author
from timelines.pages.pictures import pictures_context
from timelines.posts.post import Post

DIFF_CACHE_SIZE = 1_024
MAX_EQUAL_PAIRS = 5_000
"""The maximum number of pairs of equal words that are compared, which takes 20 ms. Other texts count as replaced."""
_WORD = regex.compile(r"\s*(?:[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]|\w+|\X)|\s+")


class VersionField(NamedTuple):
    """One field of a version. `html` marks the changes since the former version; the label of the text is empty."""

    label: str
    html: str


class VersionRow(NamedTuple):
    """One version as the page shows it. The first version has number 1."""

    number: int
    written_ms: int
    fields: list[VersionField]
    pictures: dict[str, object]
    """The context of timelines/_pictures.html."""


def version_rows(versions: Sequence[Post], author: Author) -> list[VersionRow]:
    """Return the rows of the page, newest first. `versions` are in order."""
    before = [None, *versions[:-1]]
    rows = [
        VersionRow(
            version.extra.version + 1,
            version.extra.edited_ms or version.created_ms,
            _changes(old, version),
            pictures_context(version, author),
        )
        for old, version in zip(before, versions, strict=True)
    ]
    return rows[::-1]


def _changes(old: Post | None, new: Post) -> list[VersionField]:
    """Return the text and the other fields that changed. For the first version, return all of its fields."""
    was, now = {} if old is None else _texts(old), _texts(new)
    language = get_language() or ""
    return [
        VersionField(label, diff_html(was[label], now[label], language) if old is not None else _plain(now[label]))
        for label in now
        if not label or (now[label] != was[label] if old is not None else now[label])
    ]


def _texts(post: Post) -> dict[str, str]:
    """Return the fields of a version as texts, by their labels. The label of the text is empty."""
    extra = post.extra
    return {
        _("Content warning"): extra.spoiler_text,
        _("Content warning by staff"): _("Yes") if extra.is_folded else "",
        "": post.text,
        _("Pictures"): "\n".join(media.alt or _("Picture without a description") for media in extra.media),
        _("Sensitive pictures"): (_("Yes") if extra.sensitive else _("No")) if extra.media else "",
        _("Poll"): "\n".join(extra.poll.options) if extra.poll is not None else "",
        _("Language"): extra.language or "",
    }


def _plain(text: str) -> str:
    return format_html("{}", text)


@lru_cache(maxsize=DIFF_CACHE_SIZE)
def diff_html(old: str, new: str, language: str) -> str:
    """Return the new text with the removed words as `<del>` and the added words as `<ins>`.

    Both also have hidden words in the active language, since screen readers do not announce these elements.
    """
    removed, added = _("Removed:"), _("Added:")
    parts: list[str] = []
    for is_equal, before, after in compare_words(old, new):
        if is_equal:
            parts.append(after)
            continue
        if before:
            parts.append(format_html('<del><span class="sr">{} </span>{}</del>', removed, before))
        if after:
            parts.append(format_html('<ins><span class="sr">{} </span>{}</ins>', added, after))
    return format_html("{}" * len(parts), *parts) if parts else ""


def compare_words(old: str, new: str) -> list[tuple[bool, str, str]]:
    """Return the parts of both texts in order: whether the part is equal, the old words and the new words."""
    a, b = _WORD.findall(old), _WORD.findall(new)
    start = _common_length(a, b)
    end = _common_length(a[start:][::-1], b[start:][::-1])
    middle_a, middle_b = a[start : len(a) - end], b[start : len(b) - end]
    counts = Counter(middle_a)
    if sum(counts[word] for word in middle_b) > MAX_EQUAL_PAIRS:
        middle = [(False, "".join(middle_a), "".join(middle_b))]
    else:
        opcodes = SequenceMatcher(None, middle_a, middle_b, autojunk=False).get_opcodes()
        middle = [(op == "equal", "".join(middle_a[i:j]), "".join(middle_b[m:n])) for op, i, j, m, n in opcodes]
    parts = [(True, "".join(a[:start]), "".join(b[:start])), *middle]
    parts.append((True, "".join(a[len(a) - end :]), "".join(b[len(b) - end :])))
    return [part for part in parts if part[1] or part[2]]


def _common_length(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the number of equal words at the beginning of both texts."""
    return next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))
