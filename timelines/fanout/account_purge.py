"""Removes the data of a deleted account, in bounded rounds of the worker.

Readers do not see this data, because the state of the account is already "deleted". The purge frees memory and corrects
the counts of other accounts.
"""

from accounts.accounts.service import AccountService
from socialsite.batches import batches
from socialsite.concurrency import run_together
from socialsite.ids import AccountId, PostId
from socialsite.recipes.job_queue import JobQueue
from socialsite.service import Part
from socialsite.store import Store
from socialsite.store.key_families import list_private_keys
from timelines.author_timelines.repository import AuthorTimelineRepository
from timelines.cached_timelines.repository import CachedTimelines
from timelines.exporting.service import ExportService
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.ids import ListId
from timelines.jobs import PurgeAccount, encode_job
from timelines.lists.repository import ListMembers, Lists
from timelines.media.deletion import MediaDeletion
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.poll_votes import PollRepository
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.publishing.timeline_writer import TimelineWriter
from timelines.reactions.boosts import BoostService
from timelines.reactions.service import ReactionsService
from timelines.reports.service import ReportService

ITEMS_PER_ROUND = 200
PICTURES_PER_ROUND = 50  # with five files each
POSTS_AT_ONCE = 10  # these posts share round trips; each may have 200 boosts to delete


async def request_purge(outbox: JobQueue, account_id: AccountId) -> None:
    """Store the job that completes the deletion of an account and deletes its data."""
    await outbox.add_when_full(encode_job(PurgeAccount(account_id, is_deletion=True)))


class AccountPurge(Part):
    """Removes posts, follows, lists, blocks, mutes and caches of one account."""

    store: Store
    accounts: AccountService
    posts: PostRepository
    profiles: AuthorTimelineRepository
    timeline_writer: TimelineWriter
    follows: Follows
    lists: Lists
    members: ListMembers
    homes: CachedTimelines
    list_timelines: CachedTimelines
    blocks_and_mutes: BlocksAndMutes
    follow_requests: FollowRequests
    reactions: ReactionsService
    boosts: BoostService
    polls: PollRepository
    media_deletion: MediaDeletion
    exports: ExportService
    reports: ReportService

    async def purge(self, account_id: AccountId, *, is_deletion: bool = False) -> bool:
        """Run one round for each kind of data. Return True if some data may be left.

        If `is_deletion` is true, first complete the deletion of the account, because the process that stored the job
        may have crashed.
        """
        if is_deletion:
            await self.accounts.complete_deletion(account_id)
        remaining = [
            await self._purge_posts(account_id),
            await self.follows.remove_all(account_id, ITEMS_PER_ROUND) > 0,
            await self._purge_memberships(account_id),
            await self._purge_lists(account_id),
            await self.blocks_and_mutes.purge(account_id, ITEMS_PER_ROUND),
            await self.follow_requests.purge(account_id, ITEMS_PER_ROUND),
            await self.reactions.purge(account_id, ITEMS_PER_ROUND),
            await self.polls.withdraw_votes(account_id, ITEMS_PER_ROUND),
            await self.media_deletion.purge(account_id, PICTURES_PER_ROUND),
            await self.reports.purge(account_id, ITEMS_PER_ROUND),
        ]
        await self.exports.delete_all(account_id)
        await self.store.write("UNLINK", *list_private_keys("timelines", account_id))
        await self.homes.invalidate(account_id)
        return any(remaining)

    async def _purge_posts(self, account_id: AccountId) -> bool:
        ids = await self.profiles.read(account_id, ABOVE_ALL_IDS, ITEMS_PER_ROUND, upward=False)
        posts = await self.posts.find_many(ids)
        deleted_boosts = 0
        for batch in batches(ids, POSTS_AT_ONCE):
            if deleted_boosts > ITEMS_PER_ROUND:
                break  # continue in the next round, because other jobs wait
            deleted_boosts += sum(
                await run_together(*(self._purge_post(account_id, id, posts.get(id)) for id in batch))
            )
        return bool(ids)

    async def _purge_post(self, account_id: AccountId, post_id: PostId, post: Post | None) -> int:
        """Delete one post of the account. Return how many boosts of the post were deleted."""
        if post is not None and post.boost_of is not None:
            await self.boosts.remove(post)
            return 0
        former = (await self.posts.find_versions(post_id))[:-1] if post is not None and post.extra.version else []
        await self.posts.delete(post_id, account_id)
        deleted_boosts = await self.boosts.delete_boosts(post_id)
        post = post or await self.posts.find_tombstone(account_id, post_id)
        if post is not None:
            await self.timeline_writer.remove(post, former)
        else:
            await self.profiles.remove(account_id, post_id)
        return deleted_boosts

    async def _purge_memberships(self, account_id: AccountId) -> bool:
        list_ids = await self.members.remove_listed(account_id, ITEMS_PER_ROUND)
        await self.list_timelines.invalidate_many(list_ids)
        return bool(list_ids)

    async def _purge_lists(self, account_id: AccountId) -> bool:
        list_ids = await self.lists.owned_ids(account_id)
        await run_together(*(self._purge_list(account_id, list_id) for list_id in list_ids))
        return bool(list_ids)

    async def _purge_list(self, account_id: AccountId, list_id: ListId) -> None:
        await self.lists.mark_deleted(account_id, list_id)
        if await self.members.remove_members(list_id, ITEMS_PER_ROUND) == 0:
            await self.list_timelines.invalidate(list_id)
            await self.lists.erase(account_id, list_id)
