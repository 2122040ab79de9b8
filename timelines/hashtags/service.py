"""Following hashtags. Their common timeline is merged from the timelines of the hashtags when it is read."""

from dataclasses import dataclass

from socialsite.ids import AccountId
from socialsite.limits import ActionLimits, Caller
from timelines.errors import FollowedHashtagsCapReached
from timelines.hashtags.followed import FollowedHashtags


@dataclass(slots=True)
class FollowedHashtagService:
    """The hashtags of all arguments are normalized."""

    repository: FollowedHashtags
    limits: ActionLimits

    async def follow(self, *, account_id: AccountId, tag: str, now_ms: int, caller: Caller | None = None) -> bool:
        """Follow a hashtag. Returns False if it was followed. Raises FollowedHashtagsCapReached, RateLimited."""
        async with self.limits.refundable(caller, "follow"):
            is_new = await self.repository.add(account_id, tag, now_ms)
            if is_new is None:
                raise FollowedHashtagsCapReached
            return is_new

    async def unfollow(self, *, account_id: AccountId, tag: str, caller: Caller | None = None) -> bool:
        """Unfollow a hashtag. Returns False if it was not followed. Raises RateLimited."""
        async with self.limits.refundable(caller, "follow"):
            return await self.repository.remove(account_id, tag)

    async def is_following(self, account_id: AccountId, tag: str) -> bool:
        return await self.repository.has(account_id, tag)

    async def followed(self, account_id: AccountId) -> list[str]:
        """Return the followed hashtags, the last followed first."""
        return await self.repository.all(account_id)
