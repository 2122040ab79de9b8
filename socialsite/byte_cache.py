"""Caches that are bounded by bytes, because one text may be a thousand times as long as another."""

from collections.abc import Callable, Hashable
from functools import wraps
from sys import getsizeof
from typing import Any, Generic, ParamSpec, TypeVar, cast

MB = 1_000_000
ENTRY_BYTES = 500
"""The bytes that an entry takes beside its value and the texts of its key: its places in dictionaries, and numbers."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Params = ParamSpec("Params")


class ByteCache(Generic[K, V]):
    """A cache with at most `max_bytes` of entries. No value is None.

    An entry counts `size_of(value)`, the texts of its key and `entry_bytes`. The cache has two halves and stores in the
    newer one. A full half becomes the older one, and the cache drops the entries of the former older half. It copies a
    value that it reads from the older half into the newer one, so it keeps recently used values. Several threads may
    use it: if two store at the same time, the cache may count one entry too few.
    """

    def __init__(self, max_bytes: int, size_of: Callable[[V], int], entry_bytes: int = ENTRY_BYTES) -> None:
        self._half_bytes = max_bytes // 2
        self._size_of, self._entry_bytes = size_of, entry_bytes
        self.clear()

    def __len__(self) -> int:
        return len(self._new.keys() | self._old.keys())

    def clear(self) -> None:
        self._new: dict[K, V] = {}
        self._old: dict[K, V] = {}
        self._new_bytes = 0

    def get(self, key: K) -> V | None:
        value = self._new.get(key)
        if value is None and (value := self._old.get(key)) is not None:
            self.put(key, value)
        return value

    def put(self, key: K, value: V) -> None:
        """Store a value, unless its entry is larger than half of the cache."""
        size = self._size_of(value) + self._entry_bytes + _size_of_texts(key)
        if size > self._half_bytes:
            return
        if self._new_bytes + size > self._half_bytes:
            self._old, self._new, self._new_bytes = self._new, {}, 0
        self._new[key] = value
        self._new_bytes += size

    def drop(self, key: K) -> None:
        """Remove the value at a key. Its bytes count until the cache drops its half."""
        self._new.pop(key, None)
        self._old.pop(key, None)


def _size_of_texts(key: object) -> int:
    """Return the bytes of the texts in a key that is a tuple."""
    return sum(getsizeof(part) for part in key if isinstance(part, str)) if isinstance(key, tuple) else 0


def byte_cached(
    max_bytes: int, *, size_of: Callable[[Any], int] = getsizeof, entry_bytes: int = ENTRY_BYTES
) -> Callable[[Callable[Params, V]], Callable[Params, V]]:
    """Decorate a function with a `ByteCache` of its results. A call with a keyword argument raises TypeError."""

    def decorate(function: Callable[Params, V]) -> Callable[Params, V]:
        cache: ByteCache[tuple[object, ...], V] = ByteCache(max_bytes, size_of, entry_bytes)
        get, put, call = cache.get, cache.put, cast("Callable[..., V]", function)

        @wraps(function)
        def cached(*key: object) -> V:
            value = get(key)
            if value is None:
                value = call(*key)
                put(key, value)
            return value

        return cast("Callable[Params, V]", cached)

    return decorate
