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
    JobRefused,
    Patience,
    QueueDepth,
    dead_letter_of,
    payload_of,
    stream_id,
)
from socialsite.recipes.process_identity import is_dead, mark
from socialsite.store import Command, CommandRefused, Key, Node, Reply, Script, Store, load

GROUP = "workers"
PATIENCE = Patience()
DEAD_LETTERS_CAP = 10_000
CONSUMER = re.compile(r"[0-9a-f]+")

ADD, BEAT, CLAIM, FINISH, BURY, REVIVE, RETIRE = (
    load(f"job_queue_{name}.lua", __package__)
    for name in ("add", "beat", "claim", "finish", "bury", "revive", "retire")
)
__all__ = ["DeadLetter", "Job", "JobQueue", "JobRefused", "Patience", "QueueDepth"]
log = structlog.stdlib.get_logger("socialsite.jobs")
T = TypeVar("T")


class JobQueue:
    """The queue `name`; workers are known by hex names."""

    def __init__(self, store: Store, name: str = "outbox", patience: Patience = PATIENCE) -> None:
        self._store = store
        self._name = name
        self.patience = patience

    @property
    def stream(self) -> Key:
        """STREAM of unfinished jobs, field `payload`; finished ones are deleted, so it holds what is owed."""
        return Key("jobs", tag=self._name, name="stream")

    @property
    def dead(self) -> Key:
        """STREAM of buried jobs, about the newest 10,000: `payload`, `reason`, `tries`, `job`."""
        return Key("jobs", tag=self._name, name="dead")

    def heartbeat(self, worker: str) -> Key:
        """STRING with a TTL of 10 s, the worker's process; while it is there, the worker is alive."""
        return Key("jobs", tag=self._name, name=f"worker:{worker}")

    # Producers

    def add_command(self, payload: bytes) -> Command:
        return ("XADD", self.stream, "*", "payload", payload)

    async def add(self, payload: bytes) -> str:
        """Returns the job's id."""
        (added,) = await self._store.write(self.stream, self.add_command(payload))
        return str(added.decode())

    async def add_freeing(self, payload: bytes) -> str:
        """As `add`, of a job that frees memory: a full server takes it, too."""
        command = ADD.command([self.stream], [payload])
        (added,) = await self._store.write(self.stream, command)
        return str(added.decode())

    # Workers

    @property
    def node(self) -> Node:
        """The server that holds the jobs, as the store is arranged now."""
        return self._store.node(self.stream)

    async def prepare(self) -> None:
        """Make the group where it is missing. It starts at the beginning: jobs may be older than workers."""
        try:
            await self.node.execute("XPENDING", self.stream, GROUP)
        except CommandRefused as missing:
            _require(missing, "NOGROUP")
            try:
                await self.node.execute("XGROUP", "CREATE", self.stream, GROUP, "0", "MKSTREAM")
            except CommandRefused as error:
                _require(error, "BUSYGROUP")

    async def beat(self, worker: str) -> None:
        """Say that `worker` is alive; once before its first `take`, then every few seconds."""
        await self.node.run(BEAT, [self.heartbeat(worker)], [mark(), self.patience.heartbeat_ms])

    async def take(self, worker: str, count: int, wait_ms: int) -> list[Job]:
        """Up to `count` jobs nobody has had; waits for the first. Do not cancel: it may have got some."""
        command = (
            "XREADGROUP", "GROUP", GROUP, worker, "COUNT", count, "BLOCK", max(1, wait_ms),
            "STREAMS", self.stream, ">",
        )  # fmt: skip
        reply = await self._grouped(lambda: self.node.blocking(*command, timeout_s=wait_ms / 1000))
        return [Job(id.decode(), payload_of(fields), 1) for id, fields in reply[0][1]] if reply else []

    async def finish(self, job: Job, following: Sequence[bytes] = ()) -> bool:
        """Add the jobs that follow and let go of `job`; False, and nothing added, if it was gone already."""
        return bool(await self._run(FINISH, [self.stream], [GROUP, job.id, *following]))

    async def fail(self, job: Job, reason: str) -> int | None:
        """After how many ms to try `job` again; None: that was the last try and it is buried."""
        if job.tries < self.patience.most_tries:
            return self.patience.retry_ms[job.tries - 1]
        await self.bury(job, reason)
        return None

    async def again(self, worker: str, job: Job, *, counted: bool = True) -> Job | None:
        """Renew the claim on a job for another try; None if it was finished elsewhere."""
        tries = job.tries + counted
        renewal = ("XCLAIM", self.stream, GROUP, worker, 0, job.id, "RETRYCOUNT", tries)
        claimed = await self._grouped(lambda: self.node.execute(*renewal))
        return Job(job.id, job.payload, tries) if claimed else None

    async def bury(self, job: Job, reason: str) -> bool:
        """Move a job to the dead letters; False if it was gone already."""
        tries = min(job.tries, self.patience.most_tries)
        args = [GROUP, job.id, job.payload, reason, tries, DEAD_LETTERS_CAP]
        if not await self._run(BURY, [self.stream, self.dead], args):
            return False
        log.error("dead_letter", queue=self._name, job=job.id, tries=tries, reason=reason)
        return True

    async def adopt(self, worker: str, *, held: Collection[str] = (), count: int = 1) -> list[Job]:
        """Claim jobs left behind: by dead workers, by a lost reply to ourselves, by workers that are stuck.

        One at a time is best: whichever job killed its worker is then the only one whose tries are counted
        again. Jobs that used up their tries this way are buried here; one that has been adopted before waits
        as long as if it had failed.
        """
        gone = [(owner, 0) for owner in await self._gone(worker)]
        ours, anybody = (worker, self.patience.lost_ms), ("", self.patience.stuck_ms)
        for owner, idle_ms in (*gone, ours, anybody):
            args = [GROUP, worker, owner, idle_ms, count, self.patience.suspect_ms, *held]
            while claimed := await self._run(CLAIM, [self.stream, self.heartbeat(owner or worker)], args):
                jobs = [Job(id.decode(), payload, tries) for id, tries, payload in claimed]
                if alive := [job for job in jobs if not await self._is_spent(job)]:
                    return alive
        return []

    async def retire(self, worker: str) -> int:
        """`worker` leaves; what it has not finished is free at once. Returns how many those are (to 100)."""
        return int(await self._run(RETIRE, [self.stream, self.heartbeat(worker)], [GROUP, worker]))

    # Operators

    async def depth(self) -> QueueDepth:
        commands = [
            ("XLEN", self.stream), ("XPENDING", self.stream, GROUP), ("XLEN", self.dead),
            ("XRANGE", self.stream, "-", "+", "COUNT", 1), ("TIME",),
        ]  # fmt: skip
        # No MULTI: a full server refuses whatever stands in one. So a job may end between two of these.
        owed, pending, dead, oldest, now = await self._grouped(lambda: self.node.pipeline(commands))
        age_ms = int(now[0]) * 1000 + int(now[1]) // 1000 - int(oldest[0][0].split(b"-")[0]) if oldest else 0
        return QueueDepth(max(0, owed - pending[0]), pending[0], dead, max(0, age_ms))

    async def payloads(self, most: int) -> list[bytes]:
        """What is owed, oldest first, at most so many; for audits, which take nothing out."""
        found: list[bytes] = []
        first = "-"
        while len(found) < most:
            count = min(1000, most - len(found))
            rows = await self.node.execute("XRANGE", self.stream, first, "+", "COUNT", count)
            found += [payload_of(fields) for _, fields in rows]
            if len(rows) < count:
                break
            first = f"({rows[-1][0].decode()}"
        return found

    async def dead_letters(self, limit: int, cursor: str | None = None) -> list[DeadLetter]:
        """Newest first, strictly older than the letter `cursor`."""
        newest = f"({stream_id(cursor)}" if cursor else "+"
        rows = await self.node.execute("XREVRANGE", self.dead, newest, "-", "COUNT", limit)
        return [dead_letter_of(id.decode(), fields) for id, fields in rows]

    async def retry_dead(self, id: str) -> bool:
        """Make a new job of a dead letter; False if there is none."""
        return bool(await self.node.run(REVIVE, [self.dead, self.stream], [stream_id(id)]))

    async def drop_dead(self, id: str) -> bool:
        return bool(await self.node.execute("XDEL", self.dead, stream_id(id)))

    # Inside

    async def _run(self, script: Script, keys: Sequence[Key], args: Sequence[Any]) -> Reply:
        return await self._grouped(lambda: self.node.run(script, keys, args))

    async def _grouped(self, call: Callable[[], Awaitable[T]]) -> T:
        """`call`, and once more with a new group where the old one is gone (a new or emptied server)."""
        try:
            return await call()
        except CommandRefused as error:
            _require(error, "NOGROUP", "ERR no such key")
        await self.prepare()
        return await call()

    async def _is_spent(self, job: Job) -> bool:
        """Buries a job that used up its tries without ever failing in words."""
        if job.tries <= self.patience.most_tries:
            return False
        await self.bury(job, f"its worker died or was stuck in each of {self.patience.most_tries} tries")
        return True

    async def _gone(self, worker: str) -> list[str]:
        """Workers that have no heartbeat any more, or whose process here is known to be dead."""
        rows = await self._grouped(lambda: self.node.execute("XINFO", "CONSUMERS", self.stream, GROUP))
        names = [dict(zip(row[::2], row[1::2], strict=True))[b"name"].decode() for row in rows]
        others = [name for name in names if name != worker and CONSUMER.fullmatch(name)]
        marks = await self.node.pipeline([("GET", self.heartbeat(name)) for name in others])
        killed = [name for name, seen in zip(others, marks, strict=True) if seen and is_dead(seen.decode())]
        await self.node.pipeline([("DEL", self.heartbeat(name)) for name in killed])
        return [name for name, seen in zip(others, marks, strict=True) if not seen or name in killed]


def _require(error: CommandRefused, *codes: str) -> None:
    """Passes over the refusals named; raises any other."""
    if not str(error).startswith(codes):
        raise error
