"""Write the tables of the documents that repeat a declaration: `make tables`.

A document has a line `<!-- table: NAME -->` before each such table, and a line `<!-- end -->` after it.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import socialsite.asgi  # noqa: F401 - imports the modules of all declarations
from socialsite.store.key_families import FAMILIES, KeyFamily

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
MARKED = re.compile(r"(<!-- table: (.+?) -->\n).*?(\n<!-- end -->)", re.DOTALL)


def build_table(header: str, rows: Iterable[Iterable[str]]) -> str:
    columns = header.split(" | ")
    lines = [f"| {header} |", f"|{'---|' * len(columns)}"]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in rows)])


def build_key_table(components: str) -> str:
    """Return the table of all key families of some components."""
    families = [
        FAMILIES[pattern] for name in components.split() for pattern in sorted(FAMILIES)
        if FAMILIES[pattern].component == name
    ]  # fmt: skip
    return build_table("key | type | holds | owner | cap | lifetime | backup", map(_key_cells, families))


def _key_cells(family: KeyFamily) -> list[str]:
    plain_name = f" ({family.plain_name})" if family.plain_name else ""
    mirror = f"; the other side of `{family.mirror}`" if family.mirror else ""
    condition = f". Only if {family.condition}" if family.condition else ""
    text = f"{family.role.value}{plain_name}: {family.text}{mirror}{condition}"
    cap = f"{family.cap:,}" if isinstance(family.cap, int) else family.cap
    backup = family.backup_pass.name.lower() if family.is_backed_up else ""
    return [f"`{family.pattern}`", family.redis_type, text, family.owner, cap, family.lifetime, backup]


TABLES: dict[str, tuple[Path, Callable[[str], str]]] = {"keys": (REFERENCE / "keys.md", build_key_table)}
"""The document and the function of each kind of table. The rest of the name is the argument of the function."""


def build_document(path: Path) -> str:
    """Return the document with its tables as the code declares them."""

    def replace(marked: re.Match[str]) -> str:
        kind, _, argument = marked[2].partition(" ")
        return f"{marked[1]}{TABLES[kind][1](argument)}{marked[3]}"

    return MARKED.sub(replace, path.read_text())


def main() -> None:
    for path in {path for path, _ in TABLES.values()}:
        path.write_text(build_document(path))


if __name__ == "__main__":
    main()
