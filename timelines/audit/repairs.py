"""What the checks are built with: the site's places, and the repairs several of them share."""

from dataclasses import dataclass
from functools import partial

from accounts.accounts.repository import AccountRepository
from accounts.sessions.repository import SessionRepository
from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.recipes.job_queue import JobQueue
from socialsite.service_config import ServiceConfig
from socialsite.store import Command, Store
from timelines.audit.discrepancy import Repair
from timelines.author_feeds.repository import AuthorFeedRepository, PublicTimelineRepository
from timelines.cached_timelines.repository import CachedTimelines
from timelines.fanout.affected_timelines import AffectedTimelines
from timelines.graph.repository import Follows
from timelines.hashtags.repository import HashtagTimelines
from timelines.jobs import DeleteBoostsOfPost, PurgeAccount, encode_job
from timelines.lists.repository import ListMembers, Lists
from timelines.posts.repository import PostRepository
from timelines.reactions.repository import Reactions
from timelines.reading.fan_out_on_read_repository import FanOutOnReadAuthors
from timelines.reading.service import ReadingService


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are, and how they are put right."""

    store: Store
    accounts: AccountRepository
    sessions: SessionRepository
    posts: PostRepository
    profiles: AuthorFeedRepository
    public: PublicTimelineRepository
    tags: HashtagTimelines
    homes: CachedTimelines
    list_timelines: CachedTimelines
    follows: Follows
    lists: Lists
    members: ListMembers
    reactions: Reactions
    pulled: FanOutOnReadAuthors
    reading: ReadingService
    touched: AffectedTimelines
    outbox: JobQueue
    clock: TimeSource
    config: ServiceConfig

    def run(self, *commands: Command) -> Repair:
        """A repair by commands on keys of one tag."""
        return partial(self.store.gather, commands)

    def sweep(self, account_id: int) -> Repair:
        """Have the worker take away what the account left."""
        return partial(self.outbox.add_when_full, encode_job(PurgeAccount(AccountId(account_id))))

    def fade(self, post_id: PostId) -> Repair:
        """Have the worker take along the boosts that a deleted post left."""
        return partial(self.outbox.add_when_full, encode_job(DeleteBoostsOfPost(post_id)))

    async def with_touched(self, author_id: AccountId, repair: Repair) -> None:
        """A repair that changes an author's profile; timelines made of it are forgotten before and after."""
        touched = await self.touched.of_authors([author_id])
        await touched.invalidate()
        await repair()
        await touched.invalidate()
