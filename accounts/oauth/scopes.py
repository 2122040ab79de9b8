"""The scopes of access tokens, as in Mastodon's API. A scope such as `read` includes parts such as `read:lists`."""

from collections.abc import Iterable
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

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
PART_NAMES: Final = {
    "accounts": gettext_lazy("profile and accounts"),
    "blocks": gettext_lazy("blocked accounts"),
    "bookmarks": gettext_lazy("bookmarks"),
    "conversations": gettext_lazy("conversations"),
    "favourites": gettext_lazy("likes"),
    "filters": gettext_lazy("filters"),
    "follows": gettext_lazy("follows"),
    "lists": gettext_lazy("lists"),
    "media": gettext_lazy("pictures"),
    "mutes": gettext_lazy("muted accounts"),
    "notifications": gettext_lazy("notifications"),
    "reports": gettext_lazy("reports"),
    "search": gettext_lazy("search"),
    "statuses": gettext_lazy("posts and timelines"),
}
"""Part of a scope -> its name on the consent page."""
SCOPES: Final = (*PARTS, *sorted(PARTS["read"] | PARTS["write"]))


def parse_scopes(text: str) -> tuple[str, ...]:
    """Return the distinct scopes of a text, which spaces or plus signs separate. A scope may be unknown."""
    return tuple(dict.fromkeys(text.replace("+", " ").split()))


def are_known(scopes: Iterable[str]) -> bool:
    return all(scope in SCOPES for scope in scopes)


def includes(granted: Iterable[str], wanted: str) -> bool:
    """Return whether one of the granted scopes is the wanted scope or includes it."""
    return any(scope == wanted or wanted in PARTS.get(scope, ()) for scope in granted)


def includes_all(granted: tuple[str, ...], wanted: Iterable[str]) -> bool:
    return all(includes(granted, scope) for scope in wanted)


def describe_scopes(scopes: Iterable[str]) -> list[tuple[str, str]]:
    """Return (icon, sentence) for each permission of the scopes. A part of another requested scope is left out."""
    requested = tuple(scopes)
    texts = {
        "read": ("home", _("Read everything that you can read here: timelines, notifications, lists, bookmarks.")),
        "write": ("edit", _("Act as you: write and delete posts, follow, change your profile, lists and filters.")),
        "follow": ("follow", _("Follow, block and mute people, and see whom you follow, block and mute.")),
        "push": ("notifications", _("Receive your notifications.")),
        "profile": ("account", _("Read your name, handle and picture.")),
    }
    broadest = [
        scope for scope in requested if not any(includes((other,), scope) for other in requested if other != scope)
    ]
    parts = {"read": _("Read: %s."), "write": _("Change: %s.")}
    described = [texts[scope] for scope in broadest if scope in texts]
    for kind, sentence in parts.items():
        names = [scope.partition(":")[2] for scope in broadest if scope.startswith(f"{kind}:")]
        if names:
            described.append((texts[kind][0], sentence % ", ".join(str(PART_NAMES[name]) for name in names)))
    return described
