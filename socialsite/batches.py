"""Split sequences into lists of a given size, or into groups with the same key."""

from collections.abc import Callable, Generator, Hashable, Iterable
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
GroupKey = TypeVar("GroupKey", bound=Hashable)


def batches(items: Iterable[Item], size: int) -> Generator[list[Item], None, None]:
    """Yield the items in lists of `size`; the last list may be shorter."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def group_by(items: Iterable[Item], key: Callable[[Item], GroupKey]) -> dict[GroupKey, list[Item]]:
    """Group the items by their key. Keys and items keep the order of `items`."""
    groups: dict[GroupKey, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
