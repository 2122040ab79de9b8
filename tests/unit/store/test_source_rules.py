"""Rules for the source files that a reviewer of a change may overlook."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SAFE = re.compile(r"\bmark_safe\b|\bSafeString\(|\bHtml\(b|\bformat_html_join\(")
DECLARING_SAFE = {
    "socialsite/web/page_cache.py",
    "socialsite/web/patterns.py",
    "timelines/home_page/side_panel.py",
    "timelines/notifications/presenters.py",
    "timelines/pages/pictures.py",
    "timelines/pages/presenters.py",
    "timelines/pages/quotes.py",
    "timelines/pages/responses.py",
    "timelines/pages/site_texts.py",
    "timelines/threads/views.py",
    "timelines/public_lists/views.py",
    "timelines/publishing/composer.py",
    "timelines/publishing/views.py",
    "timelines/templatetags/timelines_tags.py",
}
"""These modules join text that templates, the linkifier or `escape` escaped (tests/browser/test_hostile_text.py)."""
MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setHTMLUnsafe")
PICKLED = re.compile(r"^\s*(import|from) (pickle|marshal|shelve|dill)\b", re.MULTILINE)


def sources(suffix: str, *folders: str) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob(f"*{suffix}")):
            yield path.relative_to(ROOT).as_posix(), path.read_text()


def test_only_the_listed_modules_declare_html_as_safe() -> None:
    python = sources(".py", "socialsite", "accounts", "timelines")
    assert {path for path, text in python if SAFE.search(text)} <= DECLARING_SAFE
    unsafe = re.compile(r"\|\s*safe(seq)?\b|autoescape\s+off")
    assert [path for path, text in sources(".html", "templates") if unsafe.search(text)] == []


def test_scripts_write_no_markup() -> None:
    assert [path for path, text in sources(".js", "static") if MARKUP.search(text)] == []


def test_nothing_is_pickled() -> None:
    assert [path for path, text in sources(".py", "socialsite", "accounts", "timelines") if PICKLED.search(text)] == []


UPLOADS = re.compile(r"\.FILES\b(?!:)|\b(?:File|Image)Field\b|\bdefault_storage\b")
TAKING_FILES = ["socialsite/web/uploads.py", "timelines/media/storage.py"]


def test_only_the_listed_modules_read_and_store_files() -> None:
    """Views get files by `get_files`; `if not request.FILES:` only checks that a body contains text."""
    python = sources(".py", "socialsite", "accounts", "timelines")
    assert [path for path, text in python if UPLOADS.search(text)] == TAKING_FILES


CALL = re.compile(
    r"""redis\.p?call\(\s*['"](?:X\w+['"], ['"])?[A-Z ]+['"]\s*"""
    r"""(?:,\s*(\w[\w.]*(?:\[[^\]]+\])?(?:\(KEYS\))?))?\s*[,)]"""
)
OF_KEYS = re.compile(r"KEYS\[[^\]]+\]|unpack\(KEYS\)|KEYS|[a-z]\w*(\.\w+)?")
IN_LISTS = [
    "socialsite/recipes/distinct_ranking_top.lua",
    "socialsite/recipes/job_queue_reclaim.lua",
    "socialsite/recipes/time_series_top.lua",
    "timelines/popular/ranking_page.lua",
]
"""These scripts call Redis with a list of arguments; review that its keys are KEYS when this list grows."""
ASSIGNED = re.compile(r"^\s*(?:local )?([a-z]\w*(?:, *[a-z]\w*)*) = (.*)$", re.MULTILINE)


def scripts() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each Lua script, without comments."""
    for path, text in sources(".lua", "socialsite", "accounts", "timelines"):
        yield path, re.sub(r"--.*", "", text)


def values_of(name: str, script: str) -> Iterator[str]:
    """Yield each value that a script assigns to the variable."""
    for names, values in ASSIGNED.findall(script):
        parts = re.split(r",\s*(?![^(\[{]*[)\]}])", values)
        for place, each in enumerate(re.split(r", *", names)):
            if each == name:
                yield parts[min(place, len(parts) - 1)].strip()


def test_scripts_use_only_keys_that_they_are_given() -> None:
    """Otherwise a cluster could not route the keys, and a user's text could name a key."""
    calls, wrong = 0, []
    for path, script in scripts():
        call_keys = [call[1] for call in CALL.finditer(script)]
        calls += len(call_keys)
        wrong += [path] if len(call_keys) != len(re.findall(r"redis\.p?call\(", script)) else []
        for key in {key for key in call_keys if key}:
            made = values_of(key.partition(".")[0], script)
            if not OF_KEYS.fullmatch(key) or any(re.search(r"ARGV|\.\.|['\"]", value) for value in made):
                wrong.append(f"{path}: {key}")
    assert calls > 100
    assert wrong == IN_LISTS


def test_scripts_are_files_and_are_never_put_together() -> None:
    python = list(sources(".py", "socialsite", "accounts", "timelines"))
    made = [path for path, text in python if re.search(r"(?<!class )\bScript\(", text)]
    assert made == ["socialsite/store/commands.py"]
    assert [path for path, text in scripts() if re.search(r"\bload(string)?\s*\(", text)] == []
