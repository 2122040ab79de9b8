"""The commands of one call, in bundles that a relay sends each where its tag lies."""

from collections.abc import Sequence
from typing import NamedTuple

from socialsite.migration.blocking_commands import find_key
from socialsite.store.commands import Command
from socialsite.store.key import Key


class TagGroup(NamedTuple):
    """Commands of one call that lie on one tag: they keep their order, so one that writes holds up all."""

    key: Key | None
    positions: list[int]


def group_by_tag(commands: Sequence[Command]) -> list[TagGroup]:
    """Commands by component and tag, in the order of their first ones; those without a key together."""
    found: dict[tuple[str, str] | None, TagGroup] = {}
    for place, command in enumerate(commands):
        key = find_key(command)
        name = None if key is None else (key.component, key.tag)
        if name not in found:
            found[name] = TagGroup(key, [])
        found[name].positions.append(place)
    return list(found.values())
