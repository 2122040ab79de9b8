"""Follows and unfollows hashtags. The timeline of all followed hashtags is merged when it is read."""

from collections.abc import Collection
from dataclasses import field

from socialsite.ids import AccountId
from socialsite.limits import ActionLimits, Caller
from socialsite.service import Service
from timelines.errors import FollowedHashtagsCapReached
from timelines.hashtags.followed import FollowedHashtags
from timelines.pages.menu_cache import MenuCache

HASHTAGS_IN_MENU = 4


class FollowedHashtagService(Service):
    """Follows and unfollows hashtags. Callers pass normalized hashtags."""

    repository: FollowedHashtags
    limits: ActionLimits
    menus: MenuCache[str] = field(default_factory=MenuCache)

    async def follow(self, *, account_id: AccountId, tag: str, now_ms: int, caller: Caller | None = None) -> bool:
        """Follow a hashtag. Returns False if it is already followed. Raises FollowedHashtagsCapReached, RateLimited."""
        async with self.limits.refundable(caller, "follow"):
            is_new = await self.repository.add(account_id, tag, now_ms)
            if is_new is None:
                raise FollowedHashtagsCapReached
            self.menus.drop(account_id)
            return is_new

    async def unfollow(self, *, account_id: AccountId, tag: str, caller: Caller | None = None) -> bool:
        """Unfollow a hashtag. Returns False if it was not followed. Raises RateLimited."""
        async with self.limits.refundable(caller, "follow"):
            removed = await self.repository.remove(account_id, tag)
            self.menus.drop(account_id)
            return removed

    async def is_following(self, account_id: AccountId, tag: str) -> bool:
        return await self.repository.has(account_id, tag)

    async def followed(self, account_id: AccountId) -> list[str]:
        return await self.repository.all(account_id)

    async def load_menu(self, account_id: AccountId, now_ms: int, tabs: Collection[str] | None = None) -> None:
        """Read the hashtags among the tabs into the menu cache, or those followed last if there is no choice."""
        hashtags = await self.repository.all(account_id)
        chosen = hashtags[:HASHTAGS_IN_MENU] if tabs is None else [tag for tag in hashtags if f"#{tag}" in tabs]
        self.menus.put(account_id, chosen, now_ms)
