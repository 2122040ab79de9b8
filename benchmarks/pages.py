"""Pages that benchmarks write: tables between marks, and tables alone."""

from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs" / "reference"
END_MARK = "<!-- end -->"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first row is the head."""
    head, *others = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *others))


def replace_section(page: str, begin: str, parts: Sequence[str]) -> str:
    """Return the page with the tables, in their order, between the marks."""
    pieces = page.split(begin)
    if len(pieces) != len(parts) + 1:
        raise SystemExit(f"the page has {len(pieces) - 1} places {begin} for {len(parts)} tables")
    sections = [pieces[0]]
    for part, piece in zip(parts, pieces[1:], strict=True):
        sections.append(f"{begin}\n\n{part}\n\n{END_MARK}{piece.partition(END_MARK)[2]}")
    return "".join(sections)
