"""The parts of the site that the checks read, and the repairs that several checks share."""

from dataclasses import dataclass
from functools import partial

from accounts.accounts.repository import AccountRepository
from accounts.mail.repository import MailRepository
from accounts.sessions.repository import SessionRepository
from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.recipes.job_queue import JobQueue
from socialsite.service_config import ServiceConfig
from socialsite.store import Command, Key, Store
from timelines.audit.discrepancy import Repair
from timelines.author_timelines.hashtag_timelines import HashtagTimelines
from timelines.author_timelines.repository import AuthorTimelineRepository, PublicTimelineRepository
from timelines.cached_timelines.repository import CachedTimelines
from timelines.exporting.repository import Transfers
from timelines.fanout.affected_timelines import AffectedTimelines
from timelines.graph.repository import Follows
from timelines.jobs import DeleteBoostsOfPost, PurgeAccount, encode_job
from timelines.lists.repository import ListMembers, Lists
from timelines.media.repository import MediaRows
from timelines.media.storage import MediaFiles
from timelines.posts.quotes import QuoteRepository
from timelines.posts.repository import PostRepository
from timelines.reactions.repository import Reactions
from timelines.reading.fan_out_on_read import FanOutOnReadAuthors
from timelines.reports.repository import Reports


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditContext:
    """Repositories and settings of one site."""

    store: Store
    accounts: AccountRepository
    sessions: SessionRepository
    mails: MailRepository
    transfers: Transfers
    posts: PostRepository
    profiles: AuthorTimelineRepository
    public: PublicTimelineRepository
    tags: HashtagTimelines
    homes: CachedTimelines
    list_timelines: CachedTimelines
    follows: Follows
    lists: Lists
    members: ListMembers
    reactions: Reactions
    quotes: QuoteRepository
    pulled: FanOutOnReadAuthors
    media_rows: MediaRows
    media_files: MediaFiles
    affected: AffectedTimelines
    reports: Reports
    outbox: JobQueue
    clock: TimeSource
    config: ServiceConfig

    def run(self, *commands: Command) -> Repair:
        """Return a repair that executes commands on keys of one tag."""
        return partial(self.store.execute_all, commands)

    def remove(self, key: Key, member: object) -> Repair:
        """Return a repair that removes a member of a sorted set."""
        return self.run(("ZREM", key, member))

    def purge(self, account_id: int) -> Repair:
        """Return a repair that adds a job, in which the worker deletes all remaining data of an account."""
        return partial(self.outbox.add_when_full, encode_job(PurgeAccount(AccountId(account_id))))

    def delete_boosts(self, post_id: PostId) -> Repair:
        """Return a repair that adds a job, in which the worker deletes the boosts of a deleted post."""
        return partial(self.outbox.add_when_full, encode_job(DeleteBoostsOfPost(post_id)))

    def changing_profile(self, author_id: AccountId, repair: Repair) -> Repair:
        """Return a repair that runs `repair`, and invalidates timelines with the author's posts before and after it."""

        async def repair_and_invalidate() -> None:
            affected = await self.affected.of_authors([author_id])
            await affected.invalidate()
            await repair()
            await affected.invalidate()

        return repair_and_invalidate

    def raise_counter(self, key: Key, highest: int) -> Repair:
        """Return a repair that raises a counter of ids by INCRBY, so that ids assigned meanwhile stay valid."""

        async def raise_counter() -> None:
            (last,) = await self.store.execute_all([("GET", key)])
            if int(last or 0) < highest:
                await self.store.execute_all([("INCRBY", key, highest - int(last or 0))])

        return raise_counter


class Checks:
    """The base of checks of some families of keys."""

    def __init__(self, context: AuditContext) -> None:
        self._context = context
