"""Documents name existing files, headings, make targets, commands, modules, tests and variables."""

import re
import subprocess
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[3]
WRITTEN = [path for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")) if path.name != "CHANGELOG.md"]
ROOMS = "tests|benchmarks|docs|deploy|socialsite|timelines|accounts|static|templates|locale"
PATH = re.compile(rf"(?<![\w/.:<>@-])(?:{ROOMS})/[\w./-]*[\w/]")
VARIABLE = re.compile(r"(?<![\w{$<:-])[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b")
DJANGO_S = {"check", "help", "makemessages", "collectstatic"}
ELSEWHERE = {"OPERATOR_URL"}
"""Shell variables that an example sets itself."""
INSTALLED = re.compile(r"^socialsite/(?:\w+\.env|static)$|^accounts/\w+/$|^deploy/(?:\.env|redis/users\.acl)$")
"""Paths below /etc and /var/lib, addresses of pages, and files that an operator makes."""


@cache
def files() -> frozenset[str]:
    """Return the files that git knows and their folders."""
    found = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    names = found.stdout.decode().splitlines()
    return frozenset(names) | {str(folder) for name in names for folder in PurePosixPath(name).parents}


@cache
def code() -> str:
    kinds = (".py", ".sh", ".lua", ".conf", ".example", ".toml", "Makefile", ".ci/run")
    named = [ROOT / name for name in files() if name.endswith(kinds) or name.startswith("deploy/")]
    return "\n".join(path.read_text() for path in named if path.is_file())


def is_there(path: str) -> bool:
    """Return whether `path` is a file, a folder, a module without suffix, or a prefix of files."""
    bare = path.rstrip("/.")
    return bool({bare, f"{bare}.py"} & files()) or any(name.startswith(bare) for name in files() if path[-1] == "_")


def absent_paths(text: str) -> set[str]:
    return {path for path in PATH.findall(text) if not INSTALLED.match(path) and not is_there(path)}


def absent_commands(text: str) -> set[str]:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    known = {Path(name).stem for name in files() if "/management/commands/" in name} | DJANGO_S
    named = re.findall(r"(?:^|[`(])make ([a-z]+)", text, re.MULTILINE)
    found = {f"make {name}" for name in named if name not in targets}
    found |= {name for name in re.findall(r"manage\.py ([a-z_]+)", text) if name not in known}
    return found | {name for name in re.findall(r"python -m ([\w.]+\w)", text) if not is_module(name)}


def is_module(name: str) -> bool:
    path = name.replace(".", "/")
    return name in {"pytest", "venv", "pip", "json.tool"} or f"{path}.py" in files() or f"{path}/__main__.py" in files()


def absent_tests(text: str) -> set[str]:
    stems = {Path(name).stem for name in files()}
    return {
        name for name in re.findall(r"\btest_\w*[a-z0-9]\b", text) if name not in stems and f"def {name}(" not in code()
    }


def headings(page: Path) -> set[str]:
    """Return the anchors of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def dead_links(page: Path) -> set[str]:
    found = set()
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        to, _, heading = link.partition("#")
        at = (page.parent / to) if to else page
        if not re.match(r"\w+:", link) and (not at.exists() or (heading and heading not in headings(at))):
            found.add(link)
    return found


def absent_selections(text: str) -> set[str]:
    """Return words after `-k` that are in no name of a test or its file."""
    words = {
        word for quoted, single in re.findall(r" -k (?:'([^']+)'|(\w+))", text) for word in (quoted or single).split()
    } - {"and", "or", "not"}
    return {word for word in words if not any(word in name for name in (*files(), code()))}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_everything_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text()
    assert dead_links(page) == set()
    assert absent_paths(text) == set()
    assert absent_commands(text) == set()
    assert absent_tests(text) == set()
    assert absent_selections(text) == set()
    assert {name for name in VARIABLE.findall(text) if name not in code()} - ELSEWHERE == set()


def test_absent_names_are_reported() -> None:
    text = "`make nothing`, `manage.py nothing`, `python -m tests.nothing`, test_nothing_at_all, docs/nothing.md"
    assert absent_commands(text) == {"make nothing", "nothing", "tests.nothing"}
    assert absent_tests(text) == {"test_nothing_at_all"}
    assert absent_paths(text) == {"docs/nothing.md"}
    word = "_".join(("no", "such", "selection"))
    assert absent_selections(f" -k {word}, -k '{word} and not glossary'") == {word}
