"""docs/interface.md has every address of the site, and none that is not there."""

import re
from pathlib import Path

from tests.support.routes import routes

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "interface.md").read_text()
ELSEWHERE = "/ops/"
"""Begins what docs/ops.md tells of."""


def told(heading: str) -> set[str]:
    """The addresses in the first column of a table, with `<>` for what varies.

    Behind the first of a row, `…/x/` goes on from it, and `x/` stands in the place of its last word.
    """
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found: set[str] = set()
    for row in re.findall(r"^\| (`.*?) \|", section, flags=re.MULTILINE):
        first, *others = (bare(span) for span in re.findall(r"`([^`]+)`", row))
        parent = re.sub(r"[^/]+/$", "", first)
        found.add(first)
        found |= {first + each[2:] if each[0] == "…" else each if each[0] == "/" else parent + each
                  for each in others}  # fmt: skip
    return found


def bare(written: str) -> str:
    """Without a query, and without the names of what varies."""
    return re.sub("<[^>]*>", "<>", written.partition("?")[0])


def answering(method: str) -> set[str]:
    own = (each for each in routes() if not each.pattern.startswith(ELSEWHERE))
    return {bare(each.pattern) for each in own if method in each.methods}


def test_every_page_is_told_of_and_there() -> None:
    assert told("Pages") == answering("GET")


def test_every_action_is_told_of_and_there() -> None:
    assert told("Actions (POST)") == answering("POST")
