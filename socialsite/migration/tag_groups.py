"""The commands of one call, in bundles that a relay sends each where its tag lies."""

from collections.abc import Sequence
from typing import NamedTuple

from socialsite.migration.blocking_commands import key_in
from socialsite.store.key import Key
from socialsite.store.scripts import Command


class Bundle(NamedTuple):
    """Commands of one call that lie on one tag: they keep their order, so one that writes holds up all."""

    key: Key | None
    places: list[int]


def bundles(commands: Sequence[Command]) -> list[Bundle]:
    """Commands by component and tag, in the order of their first ones; those without a key together."""
    found: dict[tuple[str, str] | None, Bundle] = {}
    for place, command in enumerate(commands):
        key = key_in(command)
        name = None if key is None else (key.component, key.tag)
        if name not in found:
            found[name] = Bundle(key, [])
        found[name].places.append(place)
    return list(found.values())
