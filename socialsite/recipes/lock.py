"""Locks for periodic work: one flusher or one trimmer at a time. Correctness must never depend on a lock.

A lock in Redis is a lease: its owner can lose it (a failover, a process that is paused longer than the TTL) and
notices the loss late. So work under a lock must be correct without it; the lock only avoids duplicate work.

    jobs:{flush}:lock    STRING  token of the owner, with a TTL
    jobs:{flush}:fence   STRING  fencing number; a resource that stores the highest number can refuse older owners

`wait_s=0` gives up immediately if the lock is taken; otherwise `acquire` waits at most `wait_s` seconds.
Source: the article "Scaling SQL with Redis", section "Basic Locks".
"""

import asyncio
import contextlib
import random
import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass

from socialsite.store import Store, StoreUnavailable, load_script
from socialsite.store.key_families import TEMPORARY, key_by_word

ACQUIRE, RENEW, RELEASE = (load_script(f"lock_{name}.lua", __package__) for name in ("acquire", "renew", "release"))

LOCK_TTL_MS = 10_000
RETRY_DELAY_S = 0.1
NAME_PATTERN = re.compile(r"[a-z]+")


class LockNotAcquired(Exception):
    """Another owner has the lock."""


class LockLost(Exception):
    """The lock expired or its deadline passed during the work. The work was cancelled."""


lock_key = key_by_word("jobs:{<kind>}:lock", "string", "token of the worker that runs a periodic task", role=TEMPORARY,
    lifetime="LOCK_TTL_MS from the last renewal")  # fmt: skip
fence_key = key_by_word("jobs:{<kind>}:fence", "string",
    "number of times that the lock was taken, so that an older owner is recognised", role=TEMPORARY)  # fmt: skip


class Lock:
    """A lock. `name` is a fixed lower-case word."""

    def __init__(self, store: Store, name: str, *, ttl_ms: int = LOCK_TTL_MS) -> None:
        if not NAME_PATTERN.fullmatch(name):
            raise ValueError(f"a lock's name is one lower-case word, not {name!r}")
        self._node = store.component("jobs")[lock_key(name)]
        self.name = name
        self.ttl_ms = ttl_ms

    async def acquire(self, *, wait_s: float = 0) -> "LockLease":
        """Acquire the lock; wait at most `wait_s`. Raises LockNotAcquired, StoreUnavailable."""
        loop, token = asyncio.get_running_loop(), secrets.token_hex(16)
        deadline = loop.time() + wait_s
        while True:
            sent_at = loop.time()
            keys = [lock_key(self.name), fence_key(self.name)]
            if fence := int(await self._node.execute(*ACQUIRE.command(keys, [token, self.ttl_ms]))):
                return LockLease(self, token, fence, sent_at + self.ttl_ms / 1000)
            pause = RETRY_DELAY_S * random.uniform(0.5, 1)  # noqa: S311 - only spreads the retries
            if loop.time() + pause > deadline:
                raise LockNotAcquired(self.name)
            await asyncio.sleep(pause)

    @contextlib.asynccontextmanager
    async def hold(self, *, wait_s: float = 0, timeout_s: float | None = None) -> "AsyncIterator[LockLease]":
        """Hold the lock during a block and renew it; cancel the block after `timeout_s`.

        Raises LockNotAcquired before the block. If the timeout passes or the renewals fail, the block is cancelled
        before another owner can acquire the lock, and LockLost is raised. The lock is always released.
        """
        lease = await self.acquire(wait_s=wait_s)
        end = None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s
        try:
            async with asyncio.timeout_at(lease.deadline(end)) as timeout:
                renewal = asyncio.create_task(lease.keep_renewing(timeout, end))
                try:
                    yield lease
                finally:
                    renewal.cancel()
                    await asyncio.gather(renewal, return_exceptions=True)
        except TimeoutError as error:
            if not timeout.expired():
                raise
            raise LockLost(self.name) from error
        finally:
            with contextlib.suppress(StoreUnavailable):  # the lock expires anyway
                await lease.release()

    async def renew(self, token: str) -> bool:
        """Extend the TTL. Return False if the lock has another token now."""
        return bool(await self._node.execute(*RENEW.command([lock_key(self.name)], [token, self.ttl_ms])))

    async def release(self, token: str) -> bool:
        """Release the lock. Return False if the lock has another token now."""
        return bool(await self._node.execute(*RELEASE.command([lock_key(self.name)], [token])))


@dataclass(slots=True)
class LockLease:
    """An acquired lock. `fence` is higher than the fencing number of every earlier owner."""

    _lock: Lock
    _token: str
    fence: int
    expires_at: float
    """The event loop's time of the expiry. It is never later than on the server."""

    def deadline(self, end: float | None) -> float:
        return self.expires_at if end is None else min(end, self.expires_at)

    async def renew(self) -> bool:
        """Extend the lease. Return False if it was lost."""
        sent_at = asyncio.get_running_loop().time()
        if not await self._lock.renew(self._token):
            return False
        self.expires_at = sent_at + self._lock.ttl_ms / 1000
        return True

    async def release(self) -> bool:
        return await self._lock.release(self._token)

    async def keep_renewing(self, timeout: asyncio.Timeout, end: float | None) -> None:
        """Renew the lease three times per TTL and extend `timeout`. If the lock is lost, let `timeout` expire."""
        while True:
            await asyncio.sleep(self._lock.ttl_ms / 3000)
            try:
                if not await self.renew():
                    timeout.reschedule(asyncio.get_running_loop().time())
                    return
            except StoreUnavailable:
                continue
            timeout.reschedule(self.deadline(end))
