"""Stores the normalized hashtags that an account follows in the sorted set `timelines:{<account>}:tags`."""

from socialsite.characters import fold_letters
from socialsite.ids import AccountId
from socialsite.store import Repository, load_script
from timelines import keys

FOLLOW = load_script("tag_follow.lua", __package__)
FOLLOWED_HASHTAGS_CAP = 50
"""The maximum number of hashtags that an account follows. Their page reads one timeline for each hashtag."""


class FollowedHashtags(Repository):
    async def add(self, account_id: AccountId, tag: str, now_ms: int) -> bool | None:
        """Add a hashtag. Returns False if it is already followed, and None if the cap is reached."""
        key = keys.followed_hashtags(account_id)
        result = await self._timelines.write(*FOLLOW.command([key], (tag, now_ms, FOLLOWED_HASHTAGS_CAP)))
        return None if result < 0 else bool(result)

    async def remove(self, account_id: AccountId, tag: str) -> bool:
        forms = [stored for stored in await self._stored(account_id) if fold_letters(stored) == tag]
        removed = await self._timelines.write("ZREM", keys.followed_hashtags(account_id), tag, *forms)
        return bool(removed)

    async def has(self, account_id: AccountId, tag: str) -> bool:
        return tag in await self.all(account_id)

    async def all(self, account_id: AccountId) -> list[str]:
        """Return all followed hashtags. The hashtag that was followed last is first."""
        return list(dict.fromkeys(map(fold_letters, await self._stored(account_id))))

    async def _stored(self, account_id: AccountId) -> list[str]:
        """Return the hashtags as they were folded when they were followed. Older releases folded fewer letters."""
        key = keys.followed_hashtags(account_id)
        tags = await self._timelines.execute("ZREVRANGE", key, 0, FOLLOWED_HASHTAGS_CAP - 1)
        return [tag.decode() for tag in tags]
