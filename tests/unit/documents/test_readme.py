"""README.md has the figures of the last benchmarks, existing commands and links, and a link to every page."""

import re
from pathlib import Path

from benchmarks import readme

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "README.md").read_text()
TWO_SCREENS = 80


def test_the_figures_of_the_readme_are_those_of_the_last_benchmarks() -> None:
    table = f"{readme.BEGIN}\n\n{readme.figures()}\n"
    assert table in PAGE, "`python -m benchmarks pages` writes the table"


def test_the_links_of_the_readme_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert [link for link in links if not link.startswith("http") and not (ROOT / link).exists()] == []


def test_the_readme_links_every_page_of_guide_and_reference() -> None:
    pages = {
        path.relative_to(ROOT).as_posix()
        for folder in ("docs", "docs/guide", "docs/reference")
        for path in (ROOT / folder).glob("*.md")
    }
    assert len(pages) > 20
    assert {page for page in pages if f"]({page})" not in PAGE} == set()


def test_the_commands_of_the_readme_exist() -> None:
    commands = {path.stem for path in ROOT.glob("*/management/commands/*.py")}
    assert set(re.findall(r"manage\.py (\w+)", PAGE)) <= commands | {"help"}
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"make ([a-z]+)", PAGE)) <= targets


def test_the_readme_has_at_most_two_screens() -> None:
    assert PAGE.count("\n") <= TWO_SCREENS
