"""README.md says what was measured, and its commands and links are there."""

import re
from pathlib import Path

from benchmarks import readme

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "README.md").read_text()


def test_its_figures_are_those_of_the_last_benchmarks() -> None:
    table = f"{readme.BEGIN}\n\n{readme.figures()}\n"
    assert table in PAGE, "`python -m benchmarks readme` puts it right"
    assert all(f"\n| {row.what} |" in PAGE for row in readme.ROWS)


def test_the_seconds_of_imports_are_those_of_their_page() -> None:
    page = (ROOT / "docs/imports.md").read_text()
    rows = re.findall(r"\| ([\d,]+) (accounts|posts), .*\| ([\d.]+) \|", page)
    seconds = {f"{number} {what}": round(float(value)) for number, what, value in rows}
    said = re.search(r"^([\d,]+ accounts) .* in about (\d+) seconds, ([\d,]+ posts), .* in about (\d+)", PAGE, re.M)
    assert said
    assert {said[1]: int(said[2]), said[3]: int(said[4])}.items() <= seconds.items()


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert [link for link in links if not link.startswith("http") and not (ROOT / link).exists()] == []


def test_it_leads_to_every_page() -> None:
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}
    assert {page for page in pages if f"]({page})" not in PAGE} == set()


def test_its_commands_are_there() -> None:
    commands = {path.stem for path in ROOT.glob("*/management/commands/*.py")}
    assert set(re.findall(r"manage\.py (\w+)", PAGE)) <= commands | {"help"}
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"make ([a-z]+)", PAGE)) - {"are"} <= targets
