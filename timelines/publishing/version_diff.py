"""Compares the versions of a post word by word (difflib), for the page of its history.

The thread of `read_version_rows` does it beside the event loop, for one page at a time. Each comparison has a budget of
steps, and a page has VERSIONS_PER_PAGE versions, so the time of a page is bounded for any texts.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from difflib import Match, SequenceMatcher
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import regex
from django.utils.html import format_html
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.domain import Author
from timelines.pages.pictures import pictures_context
from timelines.posts.post import FIELDS, Post

DIFF_CACHE_SIZE = 1_024
VERSIONS_PER_PAGE = 10
MAX_STEPS = 100_000
"""The steps of one comparison: words, and pairs of equal words. They take 15 ms. Further words count as replaced."""
STEPS_PER_SEARCH = 100
"""Added for each search, so that the number of parts is bounded, too."""
_threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="versions")
_WORD = regex.compile(
    r"\s*(?:[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]|\w+|\p{RI}{1,2}|\X)|\s+"
)
r"""The regional indicators of flags are matched before `\X`, which counts all of them at each boundary."""


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


async def read_version_rows(versions: Sequence[Post], author: Author, page: int) -> list[VersionRow]:
    """Return the rows of a page, newest first. `versions` are all versions in order, and the newest are on page 0."""
    run = copy_context().run  # with the language of the page
    return await asyncio.get_running_loop().run_in_executor(_threads, run, _version_rows, versions, author, page)


def _version_rows(versions: Sequence[Post], author: Author, page: int) -> list[VersionRow]:
    end = max(0, len(versions) - page * VERSIONS_PER_PAGE)
    start = max(0, end - VERSIONS_PER_PAGE)
    before, versions = ([None, *versions])[start:end], versions[start:end]
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
    return {str(each.label): text for each in FIELDS if (text := each.describe(post)) is not None}


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


class _BoundedMatcher(SequenceMatcher[str]):
    """Finds equal words until MAX_STEPS are used up. Then the other words do not match."""

    def __init__(self, a: Sequence[str], b: Sequence[str]) -> None:
        super().__init__(None, a, b, autojunk=False)
        self._length = len(a)
        self._steps_before = [0, *accumulate(1 + len(self.b2j.get(word, ())) for word in a)]  # type: ignore[attr-defined]
        self._steps_left = MAX_STEPS

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        ahi = self._length if ahi is None else ahi
        self._steps_left -= STEPS_PER_SEARCH + self._steps_before[ahi] - self._steps_before[alo]
        return super().find_longest_match(alo, ahi, blo, bhi) if self._steps_left >= 0 else Match(alo, blo, 0)


def compare_words(old: str, new: str) -> list[tuple[bool, str, str]]:
    """Return the parts of both texts in order: whether the part is equal, the old words and the new words."""
    a, b = _WORD.findall(old), _WORD.findall(new)
    start = _common_length(a, b)
    end = _common_length(a[start:][::-1], b[start:][::-1])
    middle_a, middle_b = a[start : len(a) - end], b[start : len(b) - end]
    opcodes = _BoundedMatcher(middle_a, middle_b).get_opcodes()
    middle = [(op == "equal", "".join(middle_a[i:j]), "".join(middle_b[m:n])) for op, i, j, m, n in opcodes]
    parts = [(True, "".join(a[:start]), "".join(b[:start])), *middle]
    parts.append((True, "".join(a[len(a) - end :]), "".join(b[len(b) - end :])))
    return [part for part in parts if part[1] or part[2]]


def _common_length(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the number of equal words at the beginning of both texts."""
    return next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))
