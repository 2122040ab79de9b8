"""Stores keyword filters (`timelines:{<account>}:filters`). Each page of an account reads all its filters."""

from msgspec.structs import replace

from socialsite.ids import AccountId
from socialsite.store import Repository, load_script
from timelines import keys
from timelines.visibility.filter import KeywordFilter, decode_filter, encode_filter

REPLACE = load_script("replace_filter.lua", __package__)


class Filters(Repository):
    async def all(self, account_id: AccountId) -> list[KeywordFilter]:
        """Return all filters in the order of creation, including expired filters."""
        values = await self._timelines.execute("HVALS", keys.keyword_filters(account_id))
        return sorted(map(decode_filter, values), key=lambda each: each.id)

    async def add(self, account_id: AccountId, draft: KeywordFilter) -> KeywordFilter:
        """Store a filter under the next free number, and return it."""
        key = keys.keyword_filters(account_id)
        while True:
            numbers = await self._timelines.execute("HKEYS", key)
            stored = replace(draft, id=max(map(int, numbers), default=0) + 1)
            is_new = await self._timelines.write("HSETNX", key, stored.id, encode_filter(stored))
            if is_new:
                return stored

    async def replace(self, account_id: AccountId, changed: KeywordFilter) -> bool:
        """Replace the filter with the same number. Return False if there is none."""
        command = REPLACE.command((keys.keyword_filters(account_id),), (changed.id, encode_filter(changed)))
        return bool(await self._timelines.write(*command))

    async def remove(self, account_id: AccountId, number: int) -> bool:
        removed = await self._timelines.write("HDEL", keys.keyword_filters(account_id), number)
        return bool(removed)
