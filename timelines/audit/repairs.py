"""What the checks are built with: the site's places, and the repairs several of them share."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self

from accounts.domain import AccountId
from socialsite.ids import PostId, TimeSource
from socialsite.recipes.job_queue import JobQueue
from socialsite.service_config import ServiceConfig
from socialsite.store import Command, Store
from timelines.audit.discrepancy import Repair
from timelines.fanout.affected_timelines import AffectedTimelines
from timelines.jobs import DeleteBoostsOfPost, PurgeAccount, encode_job
from timelines.reading.service import ReadingService

if TYPE_CHECKING:
    from socialsite.services import Repositories, Services


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are, and how they are put right."""

    store: Store
    at: "Repositories"
    reading: ReadingService
    touched: AffectedTimelines
    outbox: JobQueue
    clock: TimeSource
    config: ServiceConfig

    @classmethod
    def of(cls, services: "Services") -> Self:
        at = services.repositories
        return cls(
            store=services.store,
            at=at,
            reading=services.reading,
            touched=AffectedTimelines(at.follows, at.members, at.homes, at.list_timelines),
            outbox=services.outbox,
            clock=services.clock,
            config=services.config,
        )

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
