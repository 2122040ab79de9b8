"""Caches the menus of readers in the process: their lists, and the hashtags that they follow."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from socialsite.ids import AccountId

MENU_CACHE_MS, MENU_CACHE_SIZE = 20_000, 4_096
"""Lifetime and number of cached menus. Other processes show a change in menus after at most this time."""

T = TypeVar("T")


class MenuCache(Generic[T]):
    def __init__(self) -> None:
        self._menus: dict[AccountId, tuple[int, tuple[T, ...]]] = {}  # owner -> (Unix ms of its expiry, items)

    def get(self, owner_id: AccountId) -> tuple[T, ...]:
        """Return the cached items, also if they have expired."""
        return self._menus.get(owner_id, (0, ()))[1]

    def is_fresh(self, owner_id: AccountId, now_ms: int) -> bool:
        return now_ms < self._menus.get(owner_id, (0, ()))[0]

    def put(self, owner_id: AccountId, items: Iterable[T], now_ms: int) -> None:
        if len(self._menus) >= MENU_CACHE_SIZE:
            self._menus.clear()
        self._menus[owner_id] = now_ms + MENU_CACHE_MS, tuple(items)

    def drop(self, owner_id: AccountId) -> None:
        self._menus.pop(owner_id, None)
