"""Split sequences: into lists of a size, or by a key."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
GroupKey = TypeVar("GroupKey", bound=Hashable)


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of `size`; the last list may be shorter."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def group_by(items: Iterable[Item], key: Callable[[Item], GroupKey]) -> dict[GroupKey, list[Item]]:
    """Return the items by their key, both in the order of `items`."""
    groups: dict[GroupKey, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
