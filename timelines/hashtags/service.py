"""Following hashtags: a timeline of its own, made of the tags' timelines when it is read."""

from socialsite.ids import AccountId
from timelines.errors import FollowedHashtagsCapReached
from timelines.hashtags.followed import FollowedHashtags


class FollowedHashtagService:
    """Tags come normalized."""

    def __init__(self, followed: FollowedHashtags) -> None:
        self._followed = followed

    async def follow(self, *, account_id: AccountId, tag: str, now_ms: int) -> bool:
        """False: it was followed. Raises FollowedHashtagsCapReached."""
        answer = await self._followed.add(account_id, tag, now_ms)
        if answer is None:
            raise FollowedHashtagsCapReached
        return answer

    async def unfollow(self, *, account_id: AccountId, tag: str) -> bool:
        """False: it was not followed."""
        return await self._followed.remove(account_id, tag)

    async def is_following(self, account_id: AccountId, tag: str) -> bool:
        return await self._followed.has(account_id, tag)

    async def followed(self, account_id: AccountId) -> list[str]:
        """Followed last first."""
        return await self._followed.all(account_id)
