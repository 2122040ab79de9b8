"""Hashtags that accounts follow: `timelines:{<account>}:tags`, as members, normalized."""

from socialsite.ids import AccountId
from socialsite.store import Store, load_script
from timelines import keys

FOLLOW = load_script("tag_follow.lua", __package__)
FOLLOWED_HASHTAGS_CAP = 50
"""A page of them reads as many timelines."""


class FollowedHashtags:
    def __init__(self, store: Store) -> None:
        self._timelines = store.component("timelines")

    async def add(self, account_id: AccountId, tag: str, now_ms: int) -> bool | None:
        """False where it was followed; None where the account follows as many as it may."""
        key = keys.followed_hashtags(account_id)
        args = (tag, now_ms, FOLLOWED_HASHTAGS_CAP)
        (answer,) = await self._timelines.write(key, FOLLOW.command([key], args))
        return None if answer < 0 else bool(answer)

    async def remove(self, account_id: AccountId, tag: str) -> bool:
        key = keys.followed_hashtags(account_id)
        (removed,) = await self._timelines.write(key, ("ZREM", key, tag))
        return bool(removed)

    async def has(self, account_id: AccountId, tag: str) -> bool:
        key = keys.followed_hashtags(account_id)
        return await self._timelines[key].execute("ZSCORE", key, tag) is not None

    async def all(self, account_id: AccountId) -> list[str]:
        """Followed last first."""
        key = keys.followed_hashtags(account_id)
        found = await self._timelines[key].execute("ZREVRANGE", key, 0, FOLLOWED_HASHTAGS_CAP - 1)
        return [tag.decode() for tag in found]

    async def delete_all(self, account_id: AccountId) -> None:
        """Of a deleted account."""
        key = keys.followed_hashtags(account_id)
        await self._timelines[key].execute("UNLINK", key)
