"""The details of dead letters. They name a post's author and id, never its text."""

from dataclasses import dataclass, field

import msgspec

from socialsite.ids import AccountId
from socialsite.recipes.job_queue import OUTBOX, DeadLetter
from timelines.jobs import DeleteBoostsOfPost, EditPost, PurgeAccount, SyndicatePost, decode_job


@dataclass(frozen=True, slots=True)
class DeadLetterDetails:
    """A dead letter and its job. `kind` is post, edit, pass, purge, fade or unknown, or the name of another queue.

    `cursor` has the phase, the partition, and the ms and id of the last edge of a fan-out pass.
    """

    letter: DeadLetter
    kind: str
    account_id: AccountId | None = None
    post_id: int | None = None
    cursor: dict[str, str | int] = field(default_factory=dict)


class _JobOfAccount(msgspec.Struct):
    """The field with the account in the jobs of the other queues."""

    account_id: int = 0
    owner: int = 0


def describe_letter(letter: DeadLetter, queue_name: str = OUTBOX) -> DeadLetterDetails:
    if queue_name != OUTBOX:
        return DeadLetterDetails(letter, queue_name, _parse_account(letter.payload))
    try:
        job = decode_job(letter.payload)
    except msgspec.DecodeError:
        return DeadLetterDetails(letter, "unknown")
    if isinstance(job, PurgeAccount):
        return DeadLetterDetails(letter, "purge", job.account_id)
    if isinstance(job, SyndicatePost | EditPost):
        kind = "edit" if isinstance(job, EditPost) else "post"
        return DeadLetterDetails(letter, kind, job.post.author_id, job.post.id)
    if isinstance(job, DeleteBoostsOfPost):
        return DeadLetterDetails(letter, "fade", post_id=job.post_id)
    cursor: dict[str, str | int] = {name: getattr(job, name) for name in ("phase", "partition", "at_ms", "id")}
    return DeadLetterDetails(letter, "pass", job.author_id, job.post_id, cursor)


def _parse_account(payload: bytes) -> AccountId | None:
    try:
        job = msgspec.msgpack.decode(payload, type=_JobOfAccount)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return AccountId(job.account_id or job.owner) or None
