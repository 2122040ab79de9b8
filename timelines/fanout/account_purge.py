"""What a deleted account leaves behind, taken away in bounded rounds by the worker.

Readers see none of it from the moment the account's state says deleted; this only frees the memory and keeps
the counts of others right.
"""

from socialsite.ids import AccountId
from timelines.author_feeds.repository import AuthorFeedRepository
from timelines.cached_timelines.repository import CachedTimelines
from timelines.filters.repository import Filters
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.hashtags.followed import FollowedHashtags
from timelines.lists.repository import ListMembers, Lists
from timelines.markers.repository import Markers
from timelines.notifications.repository import Notifications
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.repository import PostRepository
from timelines.publishing.author_timelines import AuthorTimelines
from timelines.reactions.boosting import BoostService
from timelines.reactions.service import ReactionsService

ITEMS_PER_ROUND = 200


class AccountPurge:
    """Removes posts, follows, lists, relations and caches of one account."""

    def __init__(
        self,
        *,
        posts: PostRepository,
        profiles: AuthorFeedRepository,
        author_timelines: AuthorTimelines,
        follows: Follows,
        lists: Lists,
        members: ListMembers,
        homes: CachedTimelines,
        list_timelines: CachedTimelines,
        blocks_and_mutes: BlocksAndMutes,
        follow_requests: FollowRequests,
        filters: Filters,
        notifications: Notifications,
        followed_hashtags: FollowedHashtags,
        markers: Markers,
        reactions: ReactionsService,
        boosts: BoostService,
    ) -> None:
        self._posts = posts
        self._profiles = profiles
        self._placing = author_timelines
        self._follows = follows
        self._lists = lists
        self._members = members
        self._homes = homes
        self._list_timelines = list_timelines
        self._relations = blocks_and_mutes
        self._requests = follow_requests
        self._filters = filters
        self._notifications = notifications
        self._followed_tags = followed_hashtags
        self._positions = markers
        self._reactions = reactions
        self._boosts = boosts

    async def purge(self, account_id: AccountId) -> bool:
        """One round of each kind; True while something may be left."""
        busy = [
            await self._purge_posts(account_id),
            await self._follows.remove_all(account_id, ITEMS_PER_ROUND) > 0,
            await self._purge_memberships(account_id),
            await self._purge_lists(account_id),
            await self._relations.purge(account_id, ITEMS_PER_ROUND),
            await self._requests.purge(account_id, ITEMS_PER_ROUND),
            await self._reactions.purge(account_id, ITEMS_PER_ROUND),
        ]
        await self._filters.delete_all(account_id)
        await self._notifications.delete_all(account_id)
        await self._followed_tags.delete_all(account_id)
        await self._positions.delete_all(account_id)
        await self._homes.invalidate(account_id)
        return any(busy)

    async def _purge_posts(self, account_id: AccountId) -> bool:
        ids = await self._profiles.read(account_id, ABOVE_ALL_IDS, ITEMS_PER_ROUND, upward=False)
        found = await self._posts.find_many(ids)
        faded = 0
        for post_id in ids:
            if faded > ITEMS_PER_ROUND:
                break  # the next round goes on: other jobs wait meanwhile
            if post_id in found and found[post_id].boost_of is not None:
                await self._boosts.remove(found[post_id])
                continue
            await self._posts.delete(post_id, account_id)
            faded += await self._boosts.delete_boosts(post_id)
            post = found.get(post_id) or await self._posts.find_tombstone(account_id, post_id)
            if post is not None:
                await self._placing.remove(post)
            else:
                await self._profiles.remove(account_id, post_id)
        return bool(ids)

    async def _purge_memberships(self, account_id: AccountId) -> bool:
        list_ids = await self._members.remove_listed(account_id, ITEMS_PER_ROUND)
        await self._list_timelines.invalidate_many(list_ids)
        return bool(list_ids)

    async def _purge_lists(self, account_id: AccountId) -> bool:
        list_ids = await self._lists.owned_ids(account_id)
        for list_id in list_ids:
            await self._lists.mark_deleted(account_id, list_id)
            if await self._members.remove_members(list_id, ITEMS_PER_ROUND) == 0:
                await self._list_timelines.invalidate(list_id)
                await self._lists.erase(account_id, list_id)
        return bool(list_ids)
