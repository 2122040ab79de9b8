"""Home and list timelines. Each is a short Redis LIST of post ids, a cache that is rebuilt from author timelines.

This module, delivery.py and their scripts follow these rules, so that no entry is missing or shown twice:

- The last element is the floor "-f". The list contains every post of the timeline with an id above f. Readers take
  entries up to the floor from the author timelines.
- A push is LPUSHX, which has no effect on an absent timeline and never creates one.
- An id that is older than LATE_MS at delivery is not pushed, but inserted at its position. If the reply to a push is
  late or missing, the timelines of this push are deleted. Therefore two ids are out of order only if their times differ
  by less than MAX_DISORDER_MS.
- A build stores a token in the list. Invalidating the timeline deletes the token, and so aborts the build.
"""

import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import cast

import msgspec

from socialsite.clock import DAY_MS
from socialsite.ids import PostId, TimeSource
from socialsite.store import Command, Key, Store, WrongType, load_script, prepare_command
from socialsite.store.key import READER_CACHE_SIZE
from timelines.cached_timelines.delivery import TimelinePusher
from timelines.cached_timelines.spec import MAX_DISORDER_IDS, MAX_DISORDER_MS, TimelineCacheSpec

__all__ = ["MAX_DISORDER_MS", "CachedHead", "CachedTimelines", "TimelineCacheSpec", "parse_cached_head"]

BUILD_TTL_MS = 30_000

BEGIN = load_script("cached_begin.lua", __package__)
FINISH = load_script("cached_finish.lua", __package__)


class CachedHead(msgspec.Struct, frozen=True):
    """The head of a cached timeline: distinct ids above the floor, newest first.

    If `is_whole` is set, the head contains all ids of the cached timeline. Otherwise it is complete only down to
    `settled_id`, since lower ids may be out of order in the list (MAX_DISORDER_MS).
    """

    ids: tuple[PostId, ...]
    floor: int
    is_whole: bool
    settled_id: int = 0


@asynccontextmanager
async def invalidate_around(timelines: "CachedTimelines", *owners: int) -> AsyncIterator[None]:
    """Invalidate timelines before and after a change of their sources, even if the change fails.

    Invalidating before the change aborts a running rebuild. If a crash interrupts a change, repeating the change also
    repairs an outdated timeline.
    """
    for owner in owners:
        await timelines.invalidate(owner)
    try:
        yield
    finally:
        for owner in owners:
            await timelines.invalidate(owner)


class CachedTimelines:
    """All cached timelines of one kind. The owner is an account id for a home, and a list id for a list timeline."""

    def __init__(self, store: Store, clock: TimeSource, spec: TimelineCacheSpec) -> None:
        self._timelines = store.component("timelines")
        self._store = store
        self._spec = spec
        pusher = TimelinePusher(store, clock, spec)
        self.push_encoded = pusher.push
        """Deliver an id like `push`. The owners are decimal digits in bytes, as a pass reads them from Redis."""
        self.insert, self.invalidate_many = pusher.insert, pusher.invalidate

    @property
    def cap(self) -> int:
        return self._spec.cap

    @property
    def node_count(self) -> int:
        """The number of nodes that store the timelines."""
        return self._store.node_count("timelines")

    @property
    def read_ahead(self) -> int:
        return self._spec.read_ahead

    # Reading

    async def read(self, owner: int, limit: int) -> CachedHead | None:
        """Return at least the newest `limit` ids, or None if the timeline is absent or being built.

        A value of a wrong type is deleted, since the timeline is rebuilt from its sources.
        """
        key = self._spec.key_of(owner)
        try:
            head, last, left_ms = await self._timelines[key].execute_all(_read_commands(key, limit))
        except WrongType:
            await self.invalidate(owner)
            return None
        if last is None or not head or last.startswith(b"b") or head[-1].startswith(b"b"):
            return None  # the timeline was absent or being built when one of the two commands ran
        await self._renew(key, left_ms)
        return parse_cached_head(head, last)

    async def read_whole(self, owner: int) -> CachedHead | None:
        """Return all ids of the cached timeline. The cap and the slack bound their number."""
        return await self.read(owner, 2 * self._spec.cap + 2 * self._spec.slack)

    async def is_cached(self, owner: int) -> bool:
        """Return whether the timeline is built or being built."""
        key = self._spec.key_of(owner)
        return bool(await self._timelines[key].execute("EXISTS", key))

    async def _renew(self, key: Key, left_ms: int) -> None:
        """Extend the time to live of a timeline that a viewer reads, at most once a day."""
        if 0 <= left_ms < self._spec.ttl_ms - DAY_MS:
            await self._timelines[key].execute("PEXPIRE", key, self._spec.ttl_ms)

    # Pushing

    async def push(self, owners: Sequence[int], post_id: PostId) -> None:
        """Deliver an id to many timelines. If an id is delivered twice, readers show it once."""
        await self.push_encoded([b"%d" % owner for owner in owners], post_id)

    # Invalidating and building

    async def invalidate(self, owner: int) -> None:
        """Delete the timeline, so that the next read rebuilds it. A running build is aborted."""
        await self.invalidate_many([owner])

    async def begin_build(self, owner: int) -> str | None:
        """Store a token for a build, and return it. Returns None if the timeline exists or is being built."""
        key, token = self._spec.key_of(owner), secrets.token_hex(8)
        begun = await self._timelines[key].execute(*BEGIN.command([key], [token, BUILD_TTL_MS]))
        return token if begun else None

    async def finish_build(self, owner: int, token: str, ids: Sequence[PostId], floor: int) -> bool:
        """Store `ids` and the ids that were pushed since `begin_build`.

        `ids` must contain all posts above `floor`. Returns False if the timeline was invalidated since `begin_build`.
        """
        key = self._spec.key_of(owner)
        args = [token, self._spec.cap, self._spec.ttl_ms, floor, *ids]
        return bool(await self._timelines[key].execute(*FINISH.command([key], args)))


@lru_cache(maxsize=READER_CACHE_SIZE)
def _read_commands(key: Key, limit: int) -> tuple[Command, ...]:
    return (
        prepare_command("LRANGE", key, 0, limit - 1),
        prepare_command("LINDEX", key, -1),
        prepare_command("PTTL", key),
    )


def parse_cached_head(head: Sequence[bytes], last: bytes) -> CachedHead:
    """Parse the first elements of a LIST. `last` is its last element, the floor."""
    floor = -int(last)
    whole = bool(head) and head[-1].startswith(b"-")
    numbers = sorted(map(int, head[:-1] if whole else head), reverse=True)
    settled = 0 if whole or not numbers else numbers[-1] + MAX_DISORDER_IDS
    ids = dict.fromkeys(numbers if not numbers or numbers[-1] > floor else [n for n in numbers if n > floor])
    return CachedHead(cast("tuple[PostId, ...]", tuple(ids)), floor, whole, settled)
