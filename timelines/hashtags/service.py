"""Following hashtags: a timeline of its own, made of the tags' timelines when it is read."""

from socialsite.ids import AccountId
from socialsite.limits import ActionLimits, Caller
from timelines.errors import FollowedHashtagsCapReached
from timelines.hashtags.followed import FollowedHashtags


class FollowedHashtagService:
    """Tags come normalized."""

    def __init__(self, followed: FollowedHashtags, limits: ActionLimits) -> None:
        self._followed = followed
        self._limits = limits

    async def follow(self, *, account_id: AccountId, tag: str, now_ms: int, caller: Caller | None = None) -> bool:
        """Follow a hashtag. Returns False if it was followed. Raises FollowedHashtagsCapReached, RateLimited."""
        async with self._limits.refundable(caller, "follow"):
            is_new = await self._followed.add(account_id, tag, now_ms)
            if is_new is None:
                raise FollowedHashtagsCapReached
            return is_new

    async def unfollow(self, *, account_id: AccountId, tag: str, caller: Caller | None = None) -> bool:
        """Unfollow a hashtag. Returns False if it was not followed. Raises RateLimited."""
        async with self._limits.refundable(caller, "follow"):
            return await self._followed.remove(account_id, tag)

    async def is_following(self, account_id: AccountId, tag: str) -> bool:
        return await self._followed.has(account_id, tag)

    async def followed(self, account_id: AccountId) -> list[str]:
        """Followed last first."""
        return await self._followed.all(account_id)
