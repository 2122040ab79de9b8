"""The queue of mails. Mails that could not be sent wait in a sorted set, so that they keep no worker busy."""

from socialsite.recipes.job_queue import JobQueue, RetryPolicy
from socialsite.store import Store, load_script
from socialsite.store.key_families import single_key

QUEUE_NAME = "mail"
MAILS_AT_ONCE = 4
DUE_PER_BATCH = 100
DUE_INTERVAL_S = 10.0
STUCK_AFTER_MS = 180_000
"""Longer than the time limit of a job (handler.py)."""
postponed_mails = single_key("jobs:{mail}:due", "zset",
    "payloads of jobs of mails that wait for their next try -> ms of this try", cap="pending mails",
    lifetime="none; until the next try")  # fmt: skip
MOVE_DUE = load_script("move_due.lua", __package__)


class MailQueue(JobQueue):
    def __init__(self, store: Store) -> None:
        super().__init__(store, QUEUE_NAME, RetryPolicy(stuck_after_ms=STUCK_AFTER_MS))
        self.due_key = postponed_mails()

    async def postpone(self, payload: bytes, until_ms: int) -> None:
        await self._store.write("ZADD", self.due_key, until_ms, payload)

    async def read_postponed(self, limit: int) -> list[bytes]:
        """Return the payloads of the mails whose next try comes first."""
        return list(await self.node.execute("ZRANGE", self.due_key, 0, limit - 1))

    async def move_due(self, now_ms: int) -> int:
        """Move the jobs whose time has come to the stream. Return their number, at most DUE_PER_BATCH."""
        return int(await self.node.execute(*MOVE_DUE.command([self.due_key, self.stream_key], [now_ms, DUE_PER_BATCH])))
