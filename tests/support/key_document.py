"""Read docs/reference/keys.md as data and compare the keys of a server with it."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import redis

from socialsite.recipes.job_queue import QUEUE_NAMES
from socialsite.store.key import KEY_PATTERN

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reference" / "keys.md"
PLACEHOLDERS = {
    "<hex>": "[0-9a-f]{8,}",
    "<rule>": "[a-z]+",
    "<kind>": "[a-z]+",
    "<language>": "[a-zA-Z-]+",
    "<queue>": f"(?:{'|'.join(QUEUE_NAMES)})",
}
"""Patterns of placeholders; every other placeholder is a number."""


@dataclass(frozen=True)
class KeyRow:
    """One row of a table."""

    pattern: str
    type: str = ""
    lifetime: str = ""

    def matches(self, key: str) -> bool:
        parts = re.split(r"(<[a-z]+>)", self.pattern)
        patterns = (PLACEHOLDERS.get(p, r"\d+") if p.startswith("<") else re.escape(p) for p in parts)
        return re.fullmatch("".join(patterns), key) is not None


def read_table(heading: str) -> list[KeyRow]:
    """Return the rows of the tables between a heading and the next heading."""
    section = DOCUMENT.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in re.findall(r"^\|.*\|$", section, re.M)]
    return [
        KeyRow(cells[0].strip("`"), cells[1], cells[4] if len(cells) > 4 else "")
        for cells in rows
        if cells[0].startswith("`")
    ]


COMMON_ROWS = [
    line
    for heading in (
        "Accounts and sessions",
        "Posts",
        "Timelines",
        "Search",
        "Follows and lists' members",
        "Limits, jobs, live",
        "Statistics",
    )
    for line in read_table(heading)
]


@dataclass
class KeyWatch:
    """Compares the keys of a server with the rows; `wrong` are sentences about violations."""

    client: "redis.Redis"
    lines: list[KeyRow]
    met: set[KeyRow] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def scan(self) -> None:
        for raw in self.client.scan_iter(count=1000):
            key = raw.decode()
            with self.client.pipeline() as asking:
                asking.type(key)
                asking.pttl(key)
                kind, ttl_ms = asking.execute()
            if ttl_ms != -2:  # -2: the key was deleted meanwhile
                self._check(key, kind.decode(), ttl_ms)

    def _check(self, key: str, kind: str, ttl_ms: int) -> None:
        if not KEY_PATTERN.fullmatch(key):
            self.wrong.append(f"{key} is outside the grammar")
        rows = [line for line in self.lines if line.matches(key)]
        self.met.update(rows)
        if len(rows) != 1:
            self.wrong.append(f"{key} has {len(rows)} lines in docs/reference/keys.md")
        elif kind != rows[0].type:
            self.wrong.append(f"{key} is a {kind}, docs/reference/keys.md says {rows[0].type}")
        elif not matches_lifetime(rows[0].lifetime, ttl_ms):
            self.wrong.append(f"{key} has {ttl_ms} ms to live, docs/reference/keys.md says {rows[0].lifetime}")

    @property
    def unmatched_rows(self) -> list[str]:
        return [line.pattern for line in self.lines if line not in self.met]


def matches_lifetime(lifetime: str, ttl_ms: int) -> bool:
    """Return whether the time to live fits the lifetime. `none` means no expiry; exceptions follow a semicolon."""
    usual, _, exceptions = lifetime.partition(";")
    if usual == "none":
        return ttl_ms == -1 or bool(re.search(r"\d", exceptions))
    return ttl_ms > 0
