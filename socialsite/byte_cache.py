"""Caches that are bounded by the bytes of their values, because one text may be a thousand times as long as another."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

MB = 1_000_000
ENTRY_BYTES = 500
"""The bytes of the place and the key of a small entry."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Params = ParamSpec("Params")


class ByteCache(Generic[K, V]):
    """A cache whose entries have at most `max_bytes` together. Values are never None.

    The cache has two halves, and stores in the new one. When that is full, it drops the entries of the old half, and
    the new half becomes the old one. It stores a value that is read from the old half in the new one again, so it
    keeps what was used lately. Threads may share it: if two of them store at once, one entry may not be counted.
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
        """Store a value, unless it is larger than half of the cache."""
        size = self._size_of(value) + self._entry_bytes
        if size > self._half_bytes:
            return
        if self._new_bytes + size > self._half_bytes:
            self._old, self._new, self._new_bytes = self._new, {}, 0
        self._new[key] = value
        self._new_bytes += size

    def drop(self, key: K) -> None:
        """Remove the value at a key. Its bytes count until its half is dropped."""
        self._new.pop(key, None)
        self._old.pop(key, None)


def byte_cached(
    max_bytes: int, *, size_of: Callable[[Any], int] = len, entry_bytes: int = ENTRY_BYTES
) -> Callable[[Callable[Params, V]], Callable[Params, V]]:
    """Decorate a function of positional parameters with a `ByteCache` of its results."""

    def decorate(function: Callable[Params, V]) -> Callable[Params, V]:
        cache: ByteCache[tuple[object, ...], V] = ByteCache(max_bytes, size_of, entry_bytes)
        get, put = cache.get, cache.put

        @wraps(function)
        def cached(*key: Params.args, **nothing: Params.kwargs) -> V:
            value = get(key)
            if value is None:
                value = function(*key, **nothing)
                put(key, value)
            return value

        return cached

    return decorate
