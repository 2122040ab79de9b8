"""docs/reference/interface.md has every address of the site, and no other address."""

import re
from pathlib import Path

from tests.support.routes import routes

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "interface.md").read_text()
ELSEWHERE = ("/ops/", "/oauth/", "/nodeinfo/", "/.well-known/oauth", "/.well-known/nodeinfo")
"""Prefixes of the addresses that docs/reference/admin.md and docs/reference/client-api.md list."""


def listed(heading: str) -> set[str]:
    """Return the addresses in the first column of a table, with `<>` for each variable part.

    After the first address of a row, `…/x/` continues it, and `x/` replaces its last part.
    """
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    addresses: set[str] = set()
    for row in re.findall(r"^\| (`.*?) \|", section, flags=re.MULTILINE):
        first, *others = (bare(span) for span in re.findall(r"`([^`]+)`", row))
        parent = re.sub(r"[^/]+/$", "", first)
        addresses.add(first)
        addresses |= {first + each[2:] if each[0] == "…" else each if each[0] == "/" else parent + each
                  for each in others}  # fmt: skip
    return addresses


def bare(address: str) -> str:
    """Return an address without query and without the names of its variable parts."""
    return re.sub("<[^>]*>", "<>", address.partition("?")[0])


def answering(method: str) -> set[str]:
    own = (each for each in routes() if not each.pattern.startswith(ELSEWHERE))
    return {bare(each.pattern) for each in own if method in each.methods}


def test_the_table_of_pages_equals_the_urlconf() -> None:
    assert listed("Pages") == answering("GET")


def test_the_table_of_actions_equals_the_urlconf() -> None:
    assert listed("Actions (POST)") == answering("POST")
