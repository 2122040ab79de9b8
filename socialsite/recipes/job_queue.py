"""An at-least-once queue of jobs: a Redis stream with one consumer group, and its dead letters.

A job is in the stream until it is finished or buried, so whatever dies in between, it is performed again:
handlers must be idempotent. Finishing adds the jobs that follow and lets go of the job in one script. A job
that a worker has taken is pending; when the worker's heartbeat is gone, others claim it at once. The server
counts deliveries, so a job that kills every worker reaches the dead letters too.

Knows no payload's meaning. The loop that turns it is in `worker.py`.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, TypeVar

import structlog

from socialsite.recipes.jobs import (
    DeadLetter,
    Job,
    PermanentFailure,
    QueueDepth,
    RetryPolicy,
    parse_dead_letter,
    parse_payload,
    validated_stream_id,
)
from socialsite.recipes.process_identity import is_dead_process, process_identity
from socialsite.store import Command, CommandRefused, Key, Node, Reply, Script, Store, load_script

CONSUMER_GROUP = "workers"
DEFAULT_RETRY_POLICY = RetryPolicy()
MAX_DEAD_LETTERS = 10_000
CONSUMER_NAME = re.compile(r"[0-9a-f]+")

ADD_WHEN_FULL, HEARTBEAT, RECLAIM, FINISH, DEAD_LETTER, RETRY_DEAD_LETTER, DEREGISTER = (
    load_script(f"job_queue_{name}.lua", __package__)
    for name in ("add", "beat", "claim", "finish", "bury", "revive", "retire")
)
__all__ = ["DeadLetter", "Job", "JobQueue", "PermanentFailure", "QueueDepth", "RetryPolicy"]
log = structlog.stdlib.get_logger("socialsite.jobs")
T = TypeVar("T")


class JobQueue:
    """The queue `name`; workers are known by hex names."""

    def __init__(self, store: Store, name: str = "outbox", retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY) -> None:
        self._store = store
        self._name = name
        self.retry_policy = retry_policy

    @property
    def stream_key(self) -> Key:
        """STREAM of unfinished jobs, field `payload`; finished ones are deleted, so it holds what is owed."""
        return Key("jobs", tag=self._name, name="stream")

    @property
    def dead_letters_key(self) -> Key:
        """STREAM of buried jobs, about the newest 10,000: `payload`, `reason`, `tries`, `job`."""
        return Key("jobs", tag=self._name, name="dead")

    def heartbeat_key(self, worker: str) -> Key:
        """STRING with a TTL of 10 s, the worker's process; while it is there, the worker is alive."""
        return Key("jobs", tag=self._name, name=f"worker:{worker}")

    # Producers

    def add_command(self, payload: bytes) -> Command:
        return ("XADD", self.stream_key, "*", "payload", payload)

    async def add(self, payload: bytes) -> str:
        """Returns the job's id."""
        (added,) = await self._store.write(self.stream_key, self.add_command(payload))
        return str(added.decode())

    async def add_when_full(self, payload: bytes) -> str:
        """As `add`, of a job that frees memory: a full server takes it, too."""
        command = ADD_WHEN_FULL.command([self.stream_key], [payload])
        (added,) = await self._store.write(self.stream_key, command)
        return str(added.decode())

    # Workers

    @property
    def node(self) -> Node:
        """The server that holds the jobs, as the store is arranged now."""
        return self._store.node(self.stream_key)

    async def create_group(self) -> None:
        """Make the group where it is missing. It starts at the beginning: jobs may be older than workers."""
        try:
            await self.node.execute("XPENDING", self.stream_key, CONSUMER_GROUP)
        except CommandRefused as missing:
            _raise_unless(missing, "NOGROUP")
            try:
                await self.node.execute("XGROUP", "CREATE", self.stream_key, CONSUMER_GROUP, "0", "MKSTREAM")
            except CommandRefused as error:
                _raise_unless(error, "BUSYGROUP")

    async def send_heartbeat(self, worker: str) -> None:
        """Say that `worker` is alive; once before its first `take`, then every few seconds."""
        await self.node.run(
            HEARTBEAT, [self.heartbeat_key(worker)], [process_identity(), self.retry_policy.heartbeat_ttl_ms]
        )

    async def fetch(self, worker: str, count: int, wait_ms: int) -> list[Job]:
        """Up to `count` jobs nobody has had; waits for the first. Do not cancel: it may have got some."""
        command = (
            "XREADGROUP", "GROUP", CONSUMER_GROUP, worker, "COUNT", count, "BLOCK", max(1, wait_ms),
            "STREAMS", self.stream_key, ">",
        )  # fmt: skip
        reply = await self._with_group(lambda: self.node.blocking(*command, timeout_s=wait_ms / 1000))
        return [Job(id.decode(), parse_payload(fields), 1) for id, fields in reply[0][1]] if reply else []

    async def finish(self, job: Job, following: Sequence[bytes] = ()) -> bool:
        """Add the jobs that follow and let go of `job`; False, and nothing added, if it was gone already."""
        return bool(await self._run(FINISH, [self.stream_key], [CONSUMER_GROUP, job.id, *following]))

    async def fail(self, job: Job, reason: str) -> int | None:
        """After how many ms to try `job` again; None: that was the last try and it is buried."""
        if job.tries < self.retry_policy.max_tries:
            return self.retry_policy.retry_delays_ms[job.tries - 1]
        await self.move_to_dead_letters(job, reason)
        return None

    async def renew_claim(self, worker: str, job: Job, *, count_try: bool = True) -> Job | None:
        """Renew the claim on a job for another try; None if it was finished elsewhere."""
        tries = job.tries + count_try
        renewal = ("XCLAIM", self.stream_key, CONSUMER_GROUP, worker, 0, job.id, "RETRYCOUNT", tries)
        claimed = await self._with_group(lambda: self.node.execute(*renewal))
        return Job(job.id, job.payload, tries) if claimed else None

    async def move_to_dead_letters(self, job: Job, reason: str) -> bool:
        """Move a job to the dead letters; False if it was gone already."""
        tries = min(job.tries, self.retry_policy.max_tries)
        args = [CONSUMER_GROUP, job.id, job.payload, reason, tries, MAX_DEAD_LETTERS]
        if not await self._run(DEAD_LETTER, [self.stream_key, self.dead_letters_key], args):
            return False
        log.error("dead_letter", queue=self._name, job=job.id, tries=tries, reason=reason)
        return True

    async def reclaim(self, worker: str, *, held_ids: Collection[str] = (), count: int = 1) -> list[Job]:
        """Claim jobs left behind: by dead workers, by a lost reply to ourselves, by workers that are stuck.

        One at a time is best: whichever job killed its worker is then the only one whose tries are counted
        again. Jobs that used up their tries this way are buried here; one that has been adopted before waits
        as long as if it had failed.
        """
        gone = [(owner, 0) for owner in await self._find_dead_workers(worker)]
        ours, anybody = (worker, self.retry_policy.lost_after_ms), ("", self.retry_policy.stuck_after_ms)
        for owner, idle_ms in (*gone, ours, anybody):
            args = [
                CONSUMER_GROUP,
                worker,
                owner,
                idle_ms,
                count,
                self.retry_policy.redelivery_delays,
                *held_ids,
            ]
            while claimed := await self._run(RECLAIM, [self.stream_key, self.heartbeat_key(owner or worker)], args):
                jobs = [Job(id.decode(), payload, tries) for id, tries, payload in claimed]
                if alive := [job for job in jobs if not await self._move_if_exhausted(job)]:
                    return alive
        return []

    async def deregister(self, worker: str) -> int:
        """`worker` leaves; what it has not finished is free at once. Returns how many those are (to 100)."""
        return int(await self._run(DEREGISTER, [self.stream_key, self.heartbeat_key(worker)], [CONSUMER_GROUP, worker]))

    # Operators

    async def read_depth(self) -> QueueDepth:
        commands = [
            ("XLEN", self.stream_key), ("XPENDING", self.stream_key, CONSUMER_GROUP), ("XLEN", self.dead_letters_key),
            ("XRANGE", self.stream_key, "-", "+", "COUNT", 1), ("TIME",),
        ]  # fmt: skip
        # No MULTI: a full server refuses whatever stands in one. So a job may end between two of these.
        owed, pending, dead, oldest, now = await self._with_group(lambda: self.node.pipeline(commands))
        age_ms = int(now[0]) * 1000 + int(now[1]) // 1000 - int(oldest[0][0].split(b"-")[0]) if oldest else 0
        return QueueDepth(max(0, owed - pending[0]), pending[0], dead, max(0, age_ms))

    async def read_payloads(self, most: int) -> list[bytes]:
        """What is owed, oldest first, at most so many; for audits, which take nothing out."""
        found: list[bytes] = []
        first = "-"
        while len(found) < most:
            count = min(1000, most - len(found))
            rows = await self.node.execute("XRANGE", self.stream_key, first, "+", "COUNT", count)
            found += [parse_payload(fields) for _, fields in rows]
            if len(rows) < count:
                break
            first = f"({rows[-1][0].decode()}"
        return found

    async def read_dead_letters(self, limit: int, cursor: str | None = None) -> list[DeadLetter]:
        """Newest first, strictly older than the letter `cursor`."""
        newest = f"({validated_stream_id(cursor)}" if cursor else "+"
        rows = await self.node.execute("XREVRANGE", self.dead_letters_key, newest, "-", "COUNT", limit)
        return [parse_dead_letter(id.decode(), fields) for id, fields in rows]

    async def retry_dead_letter(self, id: str) -> bool:
        """Make a new job of a dead letter; False if there is none."""
        return bool(
            await self.node.run(RETRY_DEAD_LETTER, [self.dead_letters_key, self.stream_key], [validated_stream_id(id)])
        )

    async def delete_dead_letter(self, id: str) -> bool:
        return bool(await self.node.execute("XDEL", self.dead_letters_key, validated_stream_id(id)))

    # Inside

    async def _run(self, script: Script, keys: Sequence[Key], args: Sequence[Any]) -> Reply:
        return await self._with_group(lambda: self.node.run(script, keys, args))

    async def _with_group(self, call: Callable[[], Awaitable[T]]) -> T:
        """`call`, and once more with a new group where the old one is gone (a new or emptied server)."""
        try:
            return await call()
        except CommandRefused as error:
            _raise_unless(error, "NOGROUP", "ERR no such key")
        await self.create_group()
        return await call()

    async def _move_if_exhausted(self, job: Job) -> bool:
        """Buries a job that used up its tries without ever failing in words."""
        if job.tries <= self.retry_policy.max_tries:
            return False
        await self.move_to_dead_letters(
            job, f"its worker died or was stuck in each of {self.retry_policy.max_tries} tries"
        )
        return True

    async def _find_dead_workers(self, worker: str) -> list[str]:
        """Workers that have no heartbeat any more, or whose process here is known to be dead."""
        rows = await self._with_group(lambda: self.node.execute("XINFO", "CONSUMERS", self.stream_key, CONSUMER_GROUP))
        names = [dict(zip(row[::2], row[1::2], strict=True))[b"name"].decode() for row in rows]
        others = [name for name in names if name != worker and CONSUMER_NAME.fullmatch(name)]
        marks = await self.node.pipeline([("GET", self.heartbeat_key(name)) for name in others])
        killed = [name for name, seen in zip(others, marks, strict=True) if seen and is_dead_process(seen.decode())]
        await self.node.pipeline([("DEL", self.heartbeat_key(name)) for name in killed])
        return [name for name, seen in zip(others, marks, strict=True) if not seen or name in killed]


def _raise_unless(error: CommandRefused, *codes: str) -> None:
    """Passes over the refusals named; raises any other."""
    if not str(error).startswith(codes):
        raise error
