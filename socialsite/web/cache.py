"""Store expensive shared values in Django's cache (settings.CACHES). They are not on the request path of readers.

With one Redis server or Sentinel the cache is django-redis, and all processes share it; otherwise each process has its
own cache. An entry may disappear at any time. If the cache server fails, each value is computed again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from weakref import WeakValueDictionary

import msgspec
from django.core.cache import cache

T = TypeVar("T")
CACHE_VERSION = 1
"""A part of every key. Increase it if the meaning of a cached type changes, but not its fields."""

_locks: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


async def get_or_compute(key: str, value_type: type[T], ttl_s: float, compute: Callable[[], Awaitable[T]]) -> T:
    """Return the cached value of `key`, or compute and store it for `ttl_s` seconds.

    The value is stored as JSON; `value_type` is any type that msgspec can decode. Concurrent calls in one
    process compute a value only once. A stored value of another type counts as absent. An empty list is not stored,
    so that a new site shows its first entries immediately.
    """
    lock = _locks.setdefault((id(asyncio.get_running_loop()), key), asyncio.Lock())
    async with lock:
        stored = await cache.aget(key, version=CACHE_VERSION)
        if isinstance(stored, str):
            try:
                return msgspec.json.decode(stored, type=value_type)
            except msgspec.DecodeError:
                pass  # stored by another release
        value = await compute()
        if value or not isinstance(value, list):
            await cache.aset(key, msgspec.json.encode(value).decode(), timeout=ttl_s, version=CACHE_VERSION)
        return value
