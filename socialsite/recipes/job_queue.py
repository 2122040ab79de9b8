"""An at-least-once job queue: a Redis stream with one consumer group, and a stream of dead letters.

A job is in the stream until it is finished or becomes a dead letter. If a worker dies, another worker performs
the job again, so job handlers must be idempotent. One script deletes a finished job and adds its following jobs.
A job that a worker has fetched is pending. When the worker's heartbeat expires, other workers claim its jobs.
The server counts deliveries, so a job that kills every worker becomes a dead letter.

Senders take turns: at most MAX_JOBS_PER_SENDER unfinished jobs of a sender are in the stream. Its other jobs wait in
a separate stream in their order, and each finished job moves the next job to the main stream. So a sender with 50,000
jobs delays a job of another sender by at most MAX_JOBS_PER_SENDER jobs.

In heavy queues, whose jobs take seconds, a sender has one job in the stream. After HEAVY_MS_PER_HOUR of work its jobs
enter the stream only while it is empty, so that all such senders together delay others by one job.

The queue does not interpret payloads. `worker.py` performs the jobs.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import structlog

from socialsite.recipes.job import Job, parse_job, parse_payload
from socialsite.recipes.process_identity import is_dead_process, process_identity
from socialsite.store import Command, CommandRefused, Key, Node, Reply, Script, Store, StoreFull, load_script
from socialsite.store.key_families import TEMPORARY, key_by_word, key_family

OUTBOX = "outbox"
QUEUE_NAMES = (OUTBOX, "media", "mail", "push", "previews", "archives", "exports", "slowpictures")
"""The names of all queues. Backups and audits know the keys of these queues."""
CONSUMER_GROUP = "workers"
CONSUMER_NAME = re.compile(r"[0-9a-f]+")
STREAM_ID = re.compile(r"[1-9][0-9]{0,18}-[0-9]{1,19}")
"""The ids of stream entries. Redis refuses ids above 2**64 - 1."""
MAX_DEAD_LETTERS = 10_000
WORKERS_READ_MAX = 200
MAX_JOBS_PER_SENDER = 16  # in the stream: enough for a worker that performs 8 jobs and fetches the next
HOUR_MS, HEAVY_MS_PER_HOUR = 3_600_000, 20_000
SENDERS_PER_ROUND, MAX_WAITING_STREAMS = 100, 100_000

ADD, ADD_WHEN_FULL, HEARTBEAT, RECLAIM, FINISH, DEAD_LETTER, RETRY, DEREGISTER, CREATE_GROUP = (
    load_script(f"job_queue_{name}.lua", __package__)
    for name in (
        "add",
        "add_when_full",
        "heartbeat",
        "reclaim",
        "finish",
        "dead_letter",
        "retry",
        "deregister",
        "create_group",
    )
)
log = structlog.stdlib.get_logger("socialsite.jobs")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Delays and time limits of a queue, in ms."""

    heartbeat_ttl_ms: int = 10_000
    """TTL of a heartbeat. A worker renews it more than three times within this time."""
    reclaim_interval_ms: int = 500
    """Interval at which a worker looks for jobs of dead workers."""
    stuck_after_ms: int = 60_000
    """Idle time after which other workers claim a job of a live worker."""
    lost_after_ms: int = 5_000
    """Idle time after which a worker claims its own job again, because the reply with the job was lost."""
    retry_delays_ms: tuple[int, ...] = (500, 1_000, 2_000, 4_000)
    """The delay after each failed try. There is one more try than delays."""

    @property
    def max_tries(self) -> int:
        return len(self.retry_delays_ms) + 1

    @property
    def redelivery_delays(self) -> str:
        """Return the delays before deliveries of a dead worker's job. The second delivery has no delay."""
        return ",".join(map(str, (0, *self.retry_delays_ms[1:])))


DEFAULT_RETRY_POLICY = RetryPolicy()


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """The numbers of unfetched jobs, pending jobs and dead letters, and the age of the oldest job.

    `waiting` is exact while at most SENDERS_PER_ROUND senders wait for their turn. Each further sender counts as one
    job.
    """

    waiting: int
    pending: int
    dead: int
    oldest_ms: int

    @property
    def is_empty(self) -> bool:
        return not (self.waiting or self.pending)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A job that is not tried again. `id` is the id of the dead letter. `job_id` is the id of the job."""

    id: str
    job_id: str
    payload: bytes
    reason: str
    tries: int

    @property
    def at_ms(self) -> int:
        """The time at which the job became a dead letter, in Unix ms of the server's clock."""
        return int(self.id.partition("-")[0])


def parse_dead_letter(id: str, fields: Sequence[bytes]) -> DeadLetter:
    values = dict(zip(fields[::2], fields[1::2], strict=True))
    return DeadLetter(
        id=id,
        job_id=values[b"job"].decode(),
        payload=values[b"payload"],
        reason=values[b"reason"].decode(errors="replace"),
        tries=int(values[b"tries"]),
    )


def validated_stream_id(text: str) -> str:
    """Return `text`. Raises ValueError if it is not the id of a stream entry."""
    if not STREAM_ID.fullmatch(text):
        raise ValueError(f"not the id of a dead letter: {text!r}")
    return text


_stream_key = key_by_word("jobs:{<queue>}:stream", "stream",
    "unfinished jobs, field `payload`; finished jobs are deleted", cap="pending jobs")  # fmt: skip
_unfinished_key = key_by_word("jobs:{<queue>}:unfinished", "hash",
    "account -> ids of its jobs in the stream; ids of finished jobs may remain",
    cap="MAX_JOBS_PER_SENDER ids each; in heavy queues (pictures, previews, imports, exports) 1")  # fmt: skip
_waiting_senders_key = key_by_word("jobs:{<queue>}:waiting", "zset", "accounts with waiting jobs, by ms of the oldest",
    cap="accounts")  # fmt: skip
_waiting_jobs_key: Callable[[str, str], Key] = key_family("jobs:{<queue>}:waiting:<sender>", "stream",
    "jobs, in their order, of an account that has MAX_JOBS_PER_SENDER jobs in the stream",
    cap="pending jobs")  # fmt: skip
_used_key: Callable[[str, str], Key] = key_family("jobs:{<queue>}:used:<sender>", "string",
    "ms of work for an account in a heavy queue; above HEAVY_MS_PER_HOUR its jobs wait for an empty stream",
    cap="one an account", lifetime="an hour from the first of it")  # fmt: skip
_dead_letters_key = key_by_word("jobs:{<queue>}:dead", "stream", "dead letters: `payload`, `reason`, `tries`, `job`",
    cap="MAX_DEAD_LETTERS")  # fmt: skip
_heartbeat_key: Callable[[str, str], Key] = key_family("jobs:{<queue>}:worker:<hex>", "string",
    "identity of a worker's process, which is alive while the key exists", role=TEMPORARY, lifetime="10 s")  # fmt: skip


class JobQueue:
    """The queue with this name. A worker is identified by a hexadecimal name."""

    def __init__(
        self, store: Store, name: str = OUTBOX, retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY,
        *, is_heavy: bool = False,
    ) -> None:  # fmt: skip
        self._store = store
        self._is_heavy = is_heavy
        self._sender_limits = (1, HEAVY_MS_PER_HOUR) if is_heavy else (MAX_JOBS_PER_SENDER, 0)
        self.on_dead_letter: Callable[[bytes], Awaitable[None]] | None = None
        """Called with the payload of a job before it becomes a dead letter. It may be called again for the same job."""
        self.name = name
        self.retry_policy = retry_policy

        self.stream_key = _stream_key(name)
        self.unfinished_key = _unfinished_key(name)
        self.waiting_senders_key = _waiting_senders_key(name)
        self.dead_letters_key = _dead_letters_key(name)

    def waiting_jobs_key(self, sender: str) -> Key:
        return _waiting_jobs_key(self.name, sender)

    def used_key(self, sender: str) -> Key:
        return _used_key(self.name, sender)

    def heartbeat_key(self, worker: str) -> Key:
        return _heartbeat_key(self.name, worker)

    # Producers

    def add_command(self, payload: bytes) -> Command:
        return ("XADD", self.stream_key, "*", "payload", payload)

    async def add(self, payload: bytes, sender: int | None = None) -> str:
        """Add a job and return its id. The jobs of a sender are fetched in their order, in turns with other senders."""
        command = self.add_command(payload)
        if sender is not None:
            command = ADD.command(self._sender_keys(str(sender)), [payload, sender, *self._sender_limits])
        added = await self._store.write(*command)
        return str(added.decode())

    async def add_when_full(self, payload: bytes) -> str:
        """Add a job that frees memory. A full server accepts it."""
        command = ADD_WHEN_FULL.command([self.stream_key], [payload])
        added = await self._store.write(*command)
        return str(added.decode())

    # Workers

    @property
    def node(self) -> Node:
        """The node that stores the jobs now."""
        return self._store.node(self.stream_key)

    async def create_group(self) -> None:
        """Create the consumer group if it is missing. It starts at the first entry, so it includes earlier jobs."""
        try:
            await self.node.execute("XPENDING", self.stream_key, CONSUMER_GROUP)
        except CommandRefused as missing:
            _raise_unless(missing, "NOGROUP")
            try:
                await self.node.execute("XGROUP", "CREATE", self.stream_key, CONSUMER_GROUP, "0", "MKSTREAM")
            except CommandRefused as error:
                _raise_unless(error, "BUSYGROUP")
            except StoreFull:  # the jobs of this queue free memory
                await self.node.execute(*CREATE_GROUP.command([self.stream_key], [CONSUMER_GROUP]))

    async def send_heartbeat(self, worker: str) -> None:
        """Record that `worker` is alive. Call it before the first `fetch`, then every few seconds."""
        ttl_ms = self.retry_policy.heartbeat_ttl_ms
        keys = [self.heartbeat_key(worker), self.stream_key]
        await self.node.execute(*HEARTBEAT.command(keys, [process_identity(), ttl_ms, CONSUMER_GROUP, worker]))

    async def fetch(self, worker: str, count: int, wait_ms: int) -> list[Job]:
        """Fetch up to `count` new jobs; wait at most `wait_ms` for the first one.

        Do not cancel this call: the server may have delivered jobs already.
        """
        command = (
            "XREADGROUP", "GROUP", CONSUMER_GROUP, worker, "COUNT", count, "BLOCK", max(1, wait_ms),
            "STREAMS", self.stream_key, ">",
        )  # fmt: skip
        reply = await self._with_group(lambda: self.node.blocking(*command, timeout_s=wait_ms / 1000))
        return [parse_job(id, fields) for id, fields in reply[0][1]] if reply else []

    async def finish(self, job: Job, following: Sequence[bytes] = (), used_ms: int = 0) -> bool:
        """Delete `job` and add the following jobs. If `job` was deleted before, add nothing and return False.

        In a heavy queue, `used_ms` of work are counted for its sender.
        """
        return await self._finish(job.id, job.sender, following, used_ms if self._is_heavy else 0)

    async def move_waiting_jobs(self) -> None:
        """Move waiting jobs to the stream if their senders have fewer than MAX_JOBS_PER_SENDER jobs there.

        `finish` moves jobs, too. This call is needed after a crash that followed a dead letter, and after a worker of
        an older release finished jobs.
        """
        for sender in await self._read_waiting_senders():
            await self._finish("", sender)

    async def fail(self, job: Job, reason: str) -> int | None:
        """Return the delay in ms before the next try. After the last try, make `job` a dead letter and return None."""
        if job.tries < self.retry_policy.max_tries:
            return self.retry_policy.retry_delays_ms[job.tries - 1]
        await self.move_to_dead_letters(job, reason)
        return None

    async def renew_claim(self, worker: str, job: Job, *, count_try: bool = True) -> Job | None:
        """Renew the claim on a job for another try. Return None if another worker finished it."""
        tries = job.tries + count_try
        command = ("XCLAIM", self.stream_key, CONSUMER_GROUP, worker, 0, job.id, "RETRYCOUNT", tries)
        claimed = await self._with_group(lambda: self.node.execute(*command))
        return replace(job, tries=tries) if claimed else None

    async def move_to_dead_letters(self, job: Job, reason: str) -> bool:
        """Move a job to the dead letters. Return False if the job was deleted before."""
        if self.on_dead_letter is not None:
            await self.on_dead_letter(job.payload)
        tries = min(job.tries, self.retry_policy.max_tries)
        args = [CONSUMER_GROUP, job.id, job.payload, reason, tries, MAX_DEAD_LETTERS]
        if not await self._run(DEAD_LETTER, [self.stream_key, self.dead_letters_key], args):
            return False
        if job.sender:
            await self._finish("", job.sender)
        log.error("dead_letter", queue=self.name, job=job.id, tries=tries, reason=reason)
        return True

    async def reclaim(self, worker: str, *, job_ids_in_progress: Collection[str] = (), count: int = 1) -> list[Job]:
        """Claim jobs of dead and stuck workers, and jobs that `worker` did not get because a reply was lost.

        Use a `count` of 1, so that a job that kills its worker does not raise the number of tries of other jobs. Jobs
        without remaining tries become dead letters. A job that was reclaimed before is delayed as after a failed try.
        """
        owners = [(owner, 0) for owner in await self._find_dead_workers(worker)]
        owners += [(worker, self.retry_policy.lost_after_ms), ("", self.retry_policy.stuck_after_ms)]
        for owner, idle_ms in owners:
            keys = [self.stream_key, self.heartbeat_key(owner or worker)]
            delays = self.retry_policy.redelivery_delays
            args = [CONSUMER_GROUP, worker, owner, idle_ms, count, delays, *job_ids_in_progress]
            while claimed := await self._run(RECLAIM, keys, args):
                jobs = [Job(id.decode(), payload, tries, sender.decode()) for id, tries, payload, sender in claimed]
                if performable := [job for job in jobs if not await self._move_if_exhausted(job)]:
                    return performable
        return []

    async def deregister(self, worker: str) -> int:
        """Remove `worker`; others may claim its jobs immediately. Return the number of its jobs, at most 100."""
        return int(await self._run(DEREGISTER, [self.stream_key, self.heartbeat_key(worker)], [CONSUMER_GROUP, worker]))

    # Operators

    async def read_depth(self) -> QueueDepth:
        commands = [
            ("XLEN", self.stream_key), ("XPENDING", self.stream_key, CONSUMER_GROUP), ("XLEN", self.dead_letters_key),
            ("XRANGE", self.stream_key, "-", "+", "COUNT", 1), ("TIME",),
        ]  # fmt: skip
        # No MULTI, because a full server refuses it. So a job may end between two of these commands.
        jobs, pending, dead, oldest, now = await self._with_group(lambda: self.node.execute_all(commands))
        now_ms = int(now[0]) * 1000 + int(now[1]) // 1000
        waiting, oldest_ms = await self._read_waiting()
        oldest_ms = min(oldest_ms or now_ms, int(oldest[0][0].split(b"-")[0]) if oldest else now_ms)
        return QueueDepth(max(0, jobs - pending[0]) + waiting, pending[0], dead, max(0, now_ms - oldest_ms))

    async def count_workers(self) -> int:
        """Return the number of living workers among the newest WORKERS_READ_MAX, by their heartbeats."""
        try:
            rows = await self.node.execute("XINFO", "CONSUMERS", self.stream_key, CONSUMER_GROUP)
        except CommandRefused:  # no worker has run yet
            return 0
        names = [dict(zip(row[::2], row[1::2], strict=True))[b"name"].decode() for row in rows]
        heartbeats = [self.heartbeat_key(name) for name in names[-WORKERS_READ_MAX:] if CONSUMER_NAME.fullmatch(name)]
        identities = await self.node.execute_all([("GET", key) for key in heartbeats])
        return sum(identity is not None and not is_dead_process(identity.decode()) for identity in identities)

    async def read_payloads(self, limit: int) -> list[bytes]:
        """Return the payloads of at most `limit` unfinished jobs for audits. Nothing is changed."""
        payloads = await self._read_payloads_of(self.stream_key, limit)
        for sender in await self._read_waiting_senders(limit):
            payloads += await self._read_payloads_of(self.waiting_jobs_key(sender), limit - len(payloads))
        return payloads

    async def _read_payloads_of(self, stream: Key, limit: int) -> list[bytes]:
        payloads: list[bytes] = []
        first = "-"
        while len(payloads) < limit:
            count = min(1000, limit - len(payloads))
            rows = await self.node.execute("XRANGE", stream, first, "+", "COUNT", count)
            payloads += [parse_payload(fields) for _, fields in rows]
            if len(rows) < count:
                break
            first = f"({rows[-1][0].decode()}"
        return payloads

    async def waiting_streams(self) -> list[Key]:
        """Return the keys of the jobs that wait for their turn, at most MAX_WAITING_STREAMS, for backups."""
        return [self.waiting_jobs_key(sender) for sender in await self._read_waiting_senders(MAX_WAITING_STREAMS)]

    async def read_dead_letters(self, limit: int, cursor: str | None = None) -> list[DeadLetter]:
        """Return dead letters, newest first. If `cursor` is given, return only dead letters older than this id."""
        newest = f"({validated_stream_id(cursor)}" if cursor else "+"
        rows = await self.node.execute("XREVRANGE", self.dead_letters_key, newest, "-", "COUNT", limit)
        return [parse_dead_letter(id.decode(), fields) for id, fields in rows]

    async def retry_dead_letter(self, id: str) -> bool:
        """Turn a dead letter into a new job. Return False if the dead letter does not exist."""
        return bool(
            await self.node.execute(*RETRY.command([self.dead_letters_key, self.stream_key], [validated_stream_id(id)]))
        )

    async def delete_dead_letter(self, id: str) -> bool:
        return bool(await self.node.execute("XDEL", self.dead_letters_key, validated_stream_id(id)))

    # Private methods

    def _sender_keys(self, sender: str) -> list[Key]:
        own = self.waiting_jobs_key(sender), self.used_key(sender)
        return [self.stream_key, self.unfinished_key, self.waiting_senders_key, *own]

    async def _finish(self, job_id: str, sender: str, following: Sequence[bytes] = (), used_ms: int = 0) -> bool:
        args = [CONSUMER_GROUP, job_id, sender, *self._sender_limits, used_ms, HOUR_MS, *following]
        return bool(await self._run(FINISH, self._sender_keys(sender), args))

    async def _read_waiting_senders(self, limit: int = SENDERS_PER_ROUND) -> list[str]:
        """Return the senders with waiting jobs. The sender with the oldest waiting job comes first."""
        senders = await self.node.execute("ZRANGE", self.waiting_senders_key, 0, limit - 1)
        return [sender.decode() for sender in senders]

    async def _read_waiting(self) -> tuple[int, int | None]:
        """Return the number of jobs that wait for their turn, and the Unix ms of the oldest of them."""
        key = self.waiting_senders_key
        count, oldest = await self.node.execute_all([("ZCARD", key), ("ZRANGE", key, 0, 0, "WITHSCORES")])
        if not oldest:
            return 0, None
        senders = await self._read_waiting_senders()
        sizes = await self.node.execute_all([("XLEN", self.waiting_jobs_key(sender)) for sender in senders])
        return sum(sizes) + max(0, count - len(senders)), int(float(oldest[1]))

    async def _run(self, script: Script, keys: Sequence[Key], args: Sequence[Any]) -> Reply:
        return await self._with_group(lambda: self.node.execute(*script.command(keys, args)))

    async def _with_group(self, call: Callable[[], Awaitable[T]]) -> T:
        """Await `call`. If the group is missing (a new or emptied server), create it and call again."""
        try:
            return await call()
        except CommandRefused as error:
            _raise_unless(error, "NOGROUP", "ERR no such key")
        await self.create_group()
        return await call()

    async def _move_if_exhausted(self, job: Job) -> bool:
        """Move a job to the dead letters if a worker died or was stuck in each of its tries."""
        if job.tries <= self.retry_policy.max_tries:
            return False
        await self.move_to_dead_letters(
            job, f"its worker died or was stuck in each of {self.retry_policy.max_tries} tries"
        )
        return True

    async def _find_dead_workers(self, worker: str) -> list[str]:
        """Return other workers whose heartbeat expired or whose process on this machine ended."""
        rows = await self._with_group(lambda: self.node.execute("XINFO", "CONSUMERS", self.stream_key, CONSUMER_GROUP))
        names = [dict(zip(row[::2], row[1::2], strict=True))[b"name"].decode() for row in rows]
        others = [name for name in names if name != worker and CONSUMER_NAME.fullmatch(name)]
        identities = await self.node.execute_all([("GET", self.heartbeat_key(name)) for name in others])
        heartbeats = dict(zip(others, identities, strict=True))
        ended = [name for name in others if heartbeats[name] and is_dead_process(heartbeats[name].decode())]
        await self.node.execute_all([("DEL", self.heartbeat_key(name)) for name in ended])
        return [name for name in others if not heartbeats[name] or name in ended]


def _raise_unless(error: CommandRefused, *codes: str) -> None:
    """Raise the error unless its message starts with one of the codes."""
    if not str(error).startswith(codes):
        raise error
