"""What the queue hands out: jobs, dead letters, its depth. Pure shapes and their parsing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

STREAM_ID = re.compile(r"\d{1,20}-\d{1,20}")


class PermanentFailure(Exception):
    """A handler says that this job can never succeed: it is buried without another try."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long the queue waits before it acts, all in ms."""

    heartbeat_ttl_ms: int = 10_000
    """Life of a heartbeat; a worker renews it more than three times within."""
    reclaim_interval_ms: int = 500
    """How often a worker looks for what others left behind."""
    stuck_after_ms: int = 60_000
    """A live worker that has not touched a job for so long has forgotten it."""
    lost_after_ms: int = 5_000
    """The same for a job of one's own that never arrived: the reply that carried it was lost."""
    retry_delays_ms: tuple[int, ...] = (500, 1_000, 2_000, 4_000)
    """Wait after the first failed try, the second and so on; the try after the last wait is the last one."""

    @property
    def max_tries(self) -> int:
        return len(self.retry_delays_ms) + 1

    @property
    def redelivery_delays(self) -> str:
        """Waits before the 2nd, 3rd, ... delivery of a dead worker's job, as text: the 2nd is at once."""
        return ",".join(map(str, (0, *self.retry_delays_ms[1:])))


@dataclass(frozen=True, slots=True)
class Job:
    """`tries` counts this delivery: 1 the first time."""

    id: str
    payload: bytes
    tries: int


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Jobs nobody has taken, jobs taken and not finished, dead letters, and the age of the oldest job."""

    waiting: int
    pending: int
    dead: int
    oldest_ms: int

    @property
    def is_empty(self) -> bool:
        return not (self.waiting or self.pending)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A buried job. `id` is its own, `job_id` the one it had in the queue."""

    id: str
    job_id: str
    payload: bytes
    reason: str
    tries: int

    @property
    def at_ms(self) -> int:
        """When it was buried, Unix ms by the server's clock."""
        return int(self.id.partition("-")[0])


def parse_payload(fields: Sequence[bytes]) -> bytes:
    """An entry that is none of ours has no payload: its handler will refuse the empty one."""
    return dict(zip(fields[::2], fields[1::2], strict=True)).get(b"payload", b"")


def parse_dead_letter(id: str, fields: Sequence[bytes]) -> DeadLetter:
    found = dict(zip(fields[::2], fields[1::2], strict=True))
    return DeadLetter(
        id=id,
        job_id=found[b"job"].decode(),
        payload=found[b"payload"],
        reason=found[b"reason"].decode(errors="replace"),
        tries=int(found[b"tries"]),
    )


def validated_stream_id(text: str) -> str:
    if not STREAM_ID.fullmatch(text):
        raise ValueError(f"not the id of a dead letter: {text!r}")
    return text
