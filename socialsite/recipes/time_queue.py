"""Members in the order of a time (Unix ms), such as the time at which a worker has to process them."""

import math
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from socialsite.ids import TimeSource
from socialsite.store import Key, Script, Store
from socialsite.store.aof import wait_for_aof_at_exit

M = TypeVar("M")
DUE_PER_BATCH = 50


def encode_pair(ids: tuple[int, int]) -> str:
    """Return the stored form of two ids, such as those of an account and of its draft."""
    return f"{ids[0]}:{ids[1]}"


class TimeQueue(Generic[M]):
    """A sorted set. `parse` decodes a stored member, and `encode` encodes it. `add_script` replaces ZADD."""

    def __init__(
        self,
        store: Store,
        key: Key,
        parse: Callable[[bytes], M],
        encode: Callable[[M], Any] = str,
        add_script: Script | None = None,
    ) -> None:
        self._component, self._key = store.component(key.component), key
        self._parse, self._encode, self._add_script = parse, encode, add_script

    async def add(self, member: M, at_ms: int, *, keeps_time: bool = False) -> None:
        """Store the time of a member. With `keeps_time`, a stored member keeps its time."""
        if self._add_script is not None:
            await self._component.write(*self._add_script.command([self._key], [at_ms, self._encode(member)]))
        else:
            flags = ("NX",) if keeps_time else ()
            await self._component.write("ZADD", self._key, *flags, at_ms, self._encode(member))

    async def remove(self, member: M) -> None:
        await self._component.write("ZREM", self._key, self._encode(member))

    async def contains(self, member: M) -> bool:
        return await self._component.execute("ZSCORE", self._key, self._encode(member)) is not None

    async def count(self) -> int:
        return int(await self._component.execute("ZCARD", self._key))

    async def oldest(self, limit: int, after_ms: int = 0, until_ms: float = math.inf) -> list[tuple[M, int]]:
        """Return members with their times, after `after_ms` (exclusive) and up to `until_ms`, oldest first."""
        bounds = f"({after_ms}", until_ms, "BYSCORE", "LIMIT", 0, limit, "WITHSCORES"
        reply = await self._component.execute("ZRANGE", self._key, *bounds)
        pairs = zip(reply[::2], reply[1::2], strict=True)
        return [(self._parse(member), int(float(at_ms))) for member, at_ms in pairs]

    async def process_due(self, process: Callable[[M], Awaitable[bool]], clock: TimeSource) -> int:
        """Process the members whose time has come, and remove those for which `process` returns True.

        If it returns False, it has given the member a later time. Return the number of processed members.
        """
        done = 0
        while due := await self.oldest(DUE_PER_BATCH, until_ms=clock.now_ms()):
            for member, _at_ms in due:
                async with wait_for_aof_at_exit():
                    is_done = await process(member)
                if is_done:
                    await self.remove(member)
            done += len(due)
        return done
