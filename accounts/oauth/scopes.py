"""The scopes of access tokens, as in Mastodon's API. A scope such as `read` includes parts such as `read:lists`."""

from collections.abc import Iterable
from typing import Final

DEFAULT_SCOPE: Final = "read"
_BOTH_PARTS = ("accounts", "blocks", "bookmarks", "favourites", "filters", "follows", "lists", "mutes", "notifications")
_READ = frozenset(f"read:{part}" for part in (*_BOTH_PARTS, "search", "statuses"))
_WRITE = frozenset(f"write:{part}" for part in (*_BOTH_PARTS, "conversations", "media", "reports", "statuses"))
PARTS: Final = {
    "read": _READ,
    "write": _WRITE,
    "follow": frozenset(f"{kind}:{part}" for kind in ("read", "write") for part in ("blocks", "follows", "mutes")),
    "push": frozenset[str](),
    "profile": frozenset[str](),
}
"""Scope -> the scopes that it includes."""
SCOPES: Final = (*PARTS, *sorted(PARTS["read"] | PARTS["write"]))


def parse_scopes(text: str) -> tuple[str, ...]:
    """Return the scopes of a text, separated by spaces or plus signs, each once. They may be unknown."""
    return tuple(dict.fromkeys(text.replace("+", " ").split()))


def are_known(scopes: Iterable[str]) -> bool:
    return all(scope in SCOPES for scope in scopes)


def includes(granted: Iterable[str], wanted: str) -> bool:
    """Return whether one of the granted scopes is the wanted scope or includes it."""
    return any(scope == wanted or wanted in PARTS.get(scope, ()) for scope in granted)


def includes_all(granted: tuple[str, ...], wanted: Iterable[str]) -> bool:
    return all(includes(granted, scope) for scope in wanted)
