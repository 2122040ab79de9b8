"""Locks for cron-like work: one flusher, one trimmer at a time. Correctness never rests on one.

A lock in Redis is a lease: it can be lost (a failover, a process that sleeps through its life), and its
holder learns of it late. So what runs under one must be right without it; the lock only saves doing it twice.

    jobs:{flush}:lock    STRING  token of the holder, with a life
    jobs:{flush}:fence   STRING  counts the holders; a resource that keeps the largest can refuse older ones

Both of the ways of "Scaling SQL with Redis": give up at once (`wait_s=0`), or wait so long and no longer.
"""

import asyncio
import contextlib
import random
import re
import secrets
from collections.abc import AsyncIterator

from socialsite.store import Key, Store, StoreUnavailable, load_script

ACQUIRE, RENEW, RELEASE = (load_script(f"lock_{name}.lua", __package__) for name in ("acquire", "renew", "release"))

LOCK_TTL_MS = 10_000
RETRY_DELAY_S = 0.1
NAME_PATTERN = re.compile(r"[a-z]+")


class LockNotAcquired(Exception):
    """Somebody else holds the lock."""


class LockLost(Exception):
    """The lock's life ended while its holder still worked: the work was stopped."""


def lock_key(name: str) -> Key:
    """STRING: token of the holder; gone LOCK_TTL_MS after the last renewal."""
    return Key("jobs", tag=name, name="lock")


def fence_key(name: str) -> Key:
    """STRING: how many times the lock was taken. Never expires: an older holder must stay recognizable."""
    return Key("jobs", tag=name, name="fence")


class Lock:
    """The lock `name`, a fixed word."""

    def __init__(self, store: Store, name: str, *, ttl_ms: int = LOCK_TTL_MS) -> None:
        if not NAME_PATTERN.fullmatch(name):
            raise ValueError(f"a lock's name is one lower-case word, not {name!r}")
        self._node = store.component("jobs")[lock_key(name)]
        self.name = name
        self.ttl_ms = ttl_ms

    async def acquire(self, *, wait_s: float = 0) -> "LockLease":
        """Take it; others are waited for at most `wait_s`. Raises Locked, StoreUnavailable."""
        loop, token = asyncio.get_running_loop(), secrets.token_hex(16)
        deadline = loop.time() + wait_s
        while True:
            asked_at = loop.time()
            keys = [lock_key(self.name), fence_key(self.name)]
            if fence := int(await self._node.run(ACQUIRE, keys, [token, self.ttl_ms])):
                return LockLease(self, token, fence, asked_at + self.ttl_ms / 1000)
            pause = RETRY_DELAY_S * random.uniform(0.5, 1)  # noqa: S311 - only spreads those who wait
            if loop.time() + pause > deadline:
                raise LockNotAcquired(self.name)
            await asyncio.sleep(pause)

    @contextlib.asynccontextmanager
    async def hold(self, *, wait_s: float = 0, timeout_s: float | None = None) -> "AsyncIterator[LockLease]":
        """Hold it for a block, renewing it meanwhile; `timeout_s`: the block's deadline.

        Raises Locked before the block; LockLost when the deadline passes or renewals stop: the block is
        cancelled before its lock can be somebody else's, and the lock is given back in any case.
        """
        held = await self.acquire(wait_s=wait_s)
        end = None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s
        try:
            async with asyncio.timeout_at(held.deadline(end)) as life:
                renewing = asyncio.create_task(held.keep_renewing(life, end))
                try:
                    yield held
                finally:
                    renewing.cancel()
                    await asyncio.gather(renewing, return_exceptions=True)
        except TimeoutError as error:
            if not life.expired():
                raise
            raise LockLost(self.name) from error
        finally:
            with contextlib.suppress(StoreUnavailable):  # it ends by itself
                await held.release()

    async def renew(self, token: str) -> bool:
        """False where it is no longer the token's."""
        return bool(await self._node.run(RENEW, [lock_key(self.name)], [token, self.ttl_ms]))

    async def release(self, token: str) -> bool:
        """False where it was no longer the token's."""
        return bool(await self._node.run(RELEASE, [lock_key(self.name)], [token]))


class LockLease:
    """A lock that was taken. `fence` is larger than that of everybody who held it before."""

    def __init__(self, lock: Lock, token: str, fence: int, ends_at: float) -> None:
        self._lock = lock
        self._token = token
        self.fence = fence
        self.expires_at = ends_at
        """By the loop's clock, counted from before the server was asked: never later than there."""

    def deadline(self, end: float | None) -> float:
        return self.expires_at if end is None else min(end, self.expires_at)

    async def renew(self) -> bool:
        asked_at = asyncio.get_running_loop().time()
        if not await self._lock.renew(self._token):
            return False
        self.expires_at = asked_at + self._lock.ttl_ms / 1000
        return True

    async def release(self) -> bool:
        return await self._lock.release(self._token)

    async def keep_renewing(self, life: asyncio.Timeout, end: float | None) -> None:
        """Renew three times a life until the lock is lost; a store that is away is asked again."""
        while True:
            await asyncio.sleep(self._lock.ttl_ms / 3000)
            try:
                if not await self.renew():
                    life.reschedule(asyncio.get_running_loop().time())
                    return
            except StoreUnavailable:
                continue
            life.reschedule(self.deadline(end))
