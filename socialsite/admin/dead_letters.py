"""Dead letters, readable: what each job was about, and another try or the end for it.

The text of a post is nobody's business here: a letter tells whose post it is and which.
"""

from dataclasses import dataclass, field

import msgspec

from socialsite.admin.audit_log import Actor, AuditLog
from socialsite.admin.errors import DeadLetterNotFound
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.recipes.job_queue import DeadLetter
from timelines.jobs import DeleteBoostsOfPost, PurgeAccount, SyndicatePost, decode_job


@dataclass(frozen=True, slots=True)
class DeadLetterDetails:
    """`kind`: post, pass, purge or unknown. `cursor`: phase, partition, ms and id of the last edge."""

    letter: DeadLetter
    kind: str
    account_id: AccountId | None = None
    post_id: int | None = None
    cursor: dict[str, str | int] = field(default_factory=dict)


def describe_letter(dead: DeadLetter) -> DeadLetterDetails:
    try:
        job = decode_job(dead.payload)
    except msgspec.DecodeError:
        return DeadLetterDetails(dead, "unknown")
    if isinstance(job, PurgeAccount):
        return DeadLetterDetails(dead, "purge", job.account_id)
    if isinstance(job, SyndicatePost):
        return DeadLetterDetails(dead, "post", job.post.author_id, job.post.id)
    if isinstance(job, DeleteBoostsOfPost):
        return DeadLetterDetails(dead, "fade", post_id=job.post_id)
    cursor: dict[str, str | int] = {
        "phase": job.phase,
        "partition": job.partition,
        "at_ms": job.at_ms,
        "id": job.id,
    }
    return DeadLetterDetails(dead, "pass", job.author_id, job.post_id, cursor)


class DeadLetters:
    def __init__(self, services: Services) -> None:
        self._outbox = services.outbox
        self._trail = AuditLog(services.store)

    async def page(self, limit: int, cursor: str | None) -> list[DeadLetterDetails]:
        """Newest first. Raises ValueError for what is no cursor."""
        return [describe_letter(dead) for dead in await self._outbox.read_dead_letters(limit, cursor)]

    async def retry(self, actor: Actor, id: str) -> None:
        """Safe to repeat: jobs may run any number of times. Raises DeadLetterNotFound, ValueError."""
        await self._trail.record(actor, "retry", f"letter:{id}")
        if not await self._outbox.retry_dead_letter(id):
            raise DeadLetterNotFound

    async def drop(self, actor: Actor, id: str) -> None:
        """For good: what the job owed is left to `audit --repair`. Raises DeadLetterNotFound, ValueError."""
        await self._trail.record(actor, "drop", f"letter:{id}")
        if not await self._outbox.delete_dead_letter(id):
            raise DeadLetterNotFound
