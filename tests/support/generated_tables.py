"""Write the tables of the documents that repeat a declaration: `make tables`.

A document has a line `<!-- table: NAME -->` before each such table, and a line `<!-- end -->` after it.
"""

import re
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path

from django.urls import resolve

import socialsite.asgi  # noqa: F401 - imports the modules of all declarations
from socialsite.settings_parsers import DEFAULT_RATE_LIMITS
from socialsite.store.key_families import FAMILIES, KeyFamily
from tests.support.routes import Route, api_routes
from timelines.api.endpoint import Access

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
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
    lifetime = f"{family.lifetime}; deleted with the post" if family.deleted_with_post else family.lifetime
    return [f"`{family.pattern}`", family.redis_type, text, family.owner, cap, lifetime, backup]


def build_api_table(_: str) -> str:
    """Return the table of all addresses of the client API."""
    return build_table("address | methods | scope | rate limit", map(_api_cells, api_routes()))


def _api_cells(route: Route) -> list[str]:
    all_views: dict[str, object] = resolve(route.path).func.views  # type: ignore[attr-defined]
    views = {method: all_views[method] for method in METHODS if method in all_views}
    address = re.sub(r"<(?:(id):)?(?:\w+:)?(\w+)>", lambda found: f"<{found[1] or found[2]}>", route.pattern)
    scopes = {method: _describe_access(getattr(view, "access", None)) for method, view in views.items()}
    limits = {method: f"`{rule}`" for method, view in views.items() if (rule := getattr(view, "limit_rule", ""))}
    return [f"`{address}`", ", ".join(views), _by_method(scopes, len(views)), _by_method(limits, len(views))]


def _describe_access(access: Access | None) -> str:
    if access is None or access.scopes == (None,):
        return "any" if access is not None and access.needs_token else "none"
    scopes = " or ".join(f"`{scope}`" for scope in access.scopes if scope)
    return scopes if access.needs_token else f"{scopes}, also visitors"


def _by_method(texts: dict[str, str], count: int) -> str:
    """Return the text of each method, with the methods only if they differ."""
    groups: list[tuple[str, list[str]]] = [
        (text, [method for method, _ in group]) for text, group in groupby(texts.items(), lambda pair: pair[1])
    ]
    if len(groups) == 1 and len(texts) == count:
        return groups[0][0]
    return "; ".join(f"{', '.join(methods)}: {text}" for text, methods in groups)


def build_limit_table(_: str) -> str:
    """Return the table of the rate limits and their defaults."""
    rows = [[f"`{rule}`", rate.removesuffix("/m")] for rule, rate in DEFAULT_RATE_LIMITS.items()]
    return build_table("rule | a minute", rows)


TABLES: dict[str, tuple[Path, Callable[[str], str]]] = {
    "keys": (REFERENCE / "keys.md", build_key_table),
    "limits": (REFERENCE / "interface.md", build_limit_table),
    "addresses": (REFERENCE / "client-api.md", build_api_table),
}
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
