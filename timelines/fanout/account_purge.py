"""What a deleted account leaves behind, taken away in bounded rounds by the worker.

Readers see none of it from the moment the account's state says deleted; this only frees the memory and keeps
the counts of others right.
"""

from accounts.domain import AccountId
from timelines.author_feeds.repository import ProfileRepository
from timelines.cached_timelines.repository import CachedTimelines
from timelines.filters.repository import Filters
from timelines.graph.blocks_and_mutes_repository import Relations
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.hashtags.followed import FollowedTags
from timelines.lists.repository import ListMembers, Lists
from timelines.markers.repository import Positions
from timelines.notifications.repository import Notifications
from timelines.pages.page import ABOVE_ALL
from timelines.posts.repository import PostRepository
from timelines.publishing.author_timelines import Placing
from timelines.reactions.boosting import BoostingService
from timelines.reactions.service import ReactionsService

ROUND = 200


class Purging:
    """Removes posts, follows, lists, relations and caches of one account."""

    def __init__(
        self,
        *,
        posts: PostRepository,
        profiles: ProfileRepository,
        placing: Placing,
        follows: Follows,
        lists: Lists,
        members: ListMembers,
        homes: CachedTimelines,
        list_timelines: CachedTimelines,
        relations: Relations,
        requests: FollowRequests,
        filters: Filters,
        notifications: Notifications,
        followed_tags: FollowedTags,
        positions: Positions,
        reactions: ReactionsService,
        boosts: BoostingService,
    ) -> None:
        self._posts = posts
        self._profiles = profiles
        self._placing = placing
        self._follows = follows
        self._lists = lists
        self._members = members
        self._homes = homes
        self._list_timelines = list_timelines
        self._relations = relations
        self._requests = requests
        self._filters = filters
        self._notifications = notifications
        self._followed_tags = followed_tags
        self._positions = positions
        self._reactions = reactions
        self._boosts = boosts

    async def purge(self, account_id: AccountId) -> bool:
        """One round of each kind; True while something may be left."""
        busy = [
            await self._purge_posts(account_id),
            await self._follows.remove_all(account_id, ROUND) > 0,
            await self._purge_memberships(account_id),
            await self._purge_lists(account_id),
            await self._relations.purge(account_id, ROUND),
            await self._requests.purge(account_id, ROUND),
            await self._reactions.purge(account_id, ROUND),
        ]
        await self._filters.forget(account_id)
        await self._notifications.forget(account_id)
        await self._followed_tags.forget(account_id)
        await self._positions.forget(account_id)
        await self._homes.forget(account_id)
        return any(busy)

    async def _purge_posts(self, account_id: AccountId) -> bool:
        ids = await self._profiles.read(account_id, ABOVE_ALL, ROUND, upward=False)
        found = await self._posts.find_many(ids)
        faded = 0
        for post_id in ids:
            if faded > ROUND:
                break  # the next round goes on: other jobs wait meanwhile
            if post_id in found and found[post_id].boost_of is not None:
                await self._boosts.withdraw(found[post_id])
                continue
            await self._posts.delete(post_id, account_id)
            faded += await self._boosts.fade(post_id)
            post = found.get(post_id) or await self._posts.grave(account_id, post_id)
            if post is not None:
                await self._placing.withdraw(post)
            else:
                await self._profiles.remove(account_id, post_id)
        return bool(ids)

    async def _purge_memberships(self, account_id: AccountId) -> bool:
        list_ids = await self._members.remove_listed(account_id, ROUND)
        await self._list_timelines.forget_many(list_ids)
        return bool(list_ids)

    async def _purge_lists(self, account_id: AccountId) -> bool:
        list_ids = await self._lists.indexed(account_id)
        for list_id in list_ids:
            await self._lists.mark_deleted(account_id, list_id)
            if await self._members.remove_members(list_id, ROUND) == 0:
                await self._list_timelines.forget(list_id)
                await self._lists.erase(account_id, list_id)
        return bool(list_ids)
