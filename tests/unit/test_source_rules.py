"""What the sources must not do, whatever else they do: rules that a reader of a change may overlook."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAFE = re.compile(r"\bmark_safe\b|\bSafeString\(|\bHtml\(b|\bformat_html_join\(")
DECLARING_SAFE = {
    "socialsite/shells.py",
    "timelines/notices.py",
    "timelines/presenters.py",
    "timelines/views/pages.py",
    "timelines/views/threads.py",
    "timelines/views/posts.py",
}
"""They join what templates and the linkifier escaped; tests/browser/test_hostile_text.py tries them."""
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setHTMLUnsafe"
)
PICKLED = re.compile(r"^\s*(import|from) (pickle|marshal|shelve|dill)\b", re.MULTILINE)


def sources(suffix: str, *folders: str) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob(f"*{suffix}")):
            yield path.relative_to(ROOT).as_posix(), path.read_text()


def test_html_is_declared_safe_in_these_places_alone() -> None:
    python = sources(".py", "socialsite", "accounts", "timelines")
    assert {path for path, text in python if SAFE.search(text)} <= DECLARING_SAFE
    unsafe = re.compile(r"\|\s*safe(seq)?\b|autoescape\s+off")
    assert [path for path, text in sources(".html", "templates") if unsafe.search(text)] == []


def test_scripts_write_no_markup() -> None:
    assert [path for path, text in sources(".js", "static") if MARKUP.search(text)] == []


def test_nothing_is_pickled() -> None:
    assert [
        path for path, text in sources(".py", "socialsite", "accounts", "timelines") if PICKLED.search(text)
    ] == []
