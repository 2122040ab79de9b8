"""Home and list timelines: short LISTs of ids, caches of the profiles they are made of.

The rules that make them exact, all in this module, cached_pushing.py and their scripts:

- the last element is the floor, "-f": every post the timeline should hold with id > f is in the list; below
  it nothing is promised and readers take older entries from the profiles;
- push is LPUSHX: an absent timeline costs nothing and is never created by a push;
- an id older than LATE_MS at delivery is inserted in order instead; a push whose reply comes late, or not at
  all, deletes the timelines it went to. So the list is sorted but for MARGIN_MS of id time;
- a build stands under a token; whoever forgets the timeline removes the token, and the build aborts.
"""

import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import cast

import msgspec

from socialsite.ids import PostId, TimeSource
from socialsite.store import Command, Key, Store, load_script, prepare_command
from socialsite.store.key import KEY_CACHE_SIZE
from timelines.cached_timelines.pushing import TimelinePusher
from timelines.cached_timelines.spec import MAX_DISORDER_IDS, MAX_DISORDER_MS, TimelineCacheSpec
from timelines.ports import TimelineCache

__all__ = ["MAX_DISORDER_MS", "CachedHead", "CachedTimelines", "TimelineCacheSpec", "parse_cached_head"]

BUILD_TTL_MS = 30_000
DAY_MS = 86_400_000

BEGIN = load_script("cached_begin.lua", __package__)
FINISH = load_script("cached_finish.lua", __package__)


class CachedHead(msgspec.Struct, frozen=True):
    """The head of a cached timeline: distinct ids above the floor, newest first.

    `whole`: the list ends here. Otherwise ids down to `settled` are in their final order (MARGIN_MS).
    """

    ids: tuple[PostId, ...]
    floor: int
    is_whole: bool
    settled_id: int = 0


@asynccontextmanager
async def invalidate_around(timelines: TimelineCache, *owners: int) -> AsyncIterator[None]:
    """Invalidate timelines before and after a change of their sources, even if the change fails.

    Invalidating before the change defeats a rebuild under way. Repeating a change that a crash interrupted also
    repairs a stale timeline.
    """
    for owner in owners:
        await timelines.invalidate(owner)
    try:
        yield
    finally:
        for owner in owners:
            await timelines.invalidate(owner)


class CachedTimelines:
    """All timelines of one kind; owners are account ids for homes, list ids for lists."""

    def __init__(self, store: Store, clock: TimeSource, kind: TimelineCacheSpec) -> None:
        self._place = store.component("timelines")
        self._store = store
        self._kind = kind
        self._pushing = TimelinePusher(store, clock, kind)

    @property
    def cap(self) -> int:
        return self._kind.cap

    @property
    def node_count(self) -> int:
        """Over how many nodes the timelines are spread."""
        return self._store.node_count("timelines")

    @property
    def read_ahead(self) -> int:
        return self._kind.read_ahead

    # Reading

    async def read(self, owner: int, limit: int) -> CachedHead | None:
        """The newest `limit` ids at least; None where the timeline is absent or being built."""
        key = self._kind.key_of(owner)
        head, last, left_ms = await self._place[key].pipeline(_look(key, limit))
        if last is None or not head or last.startswith(b"b") or head[-1].startswith(b"b"):
            return None  # absent or being built, at one of the two looks
        await self._renew(key, left_ms)
        return parse_cached_head(head, last)

    async def read_whole(self, owner: int) -> CachedHead | None:
        """Everything: bounded by cap and slack."""
        return await self.read(owner, 2 * self._kind.cap + 2 * self._kind.slack)

    async def is_cached(self, owner: int) -> bool:
        """Whether anything stands there, built or being built."""
        key = self._kind.key_of(owner)
        return bool(await self._place[key].execute("EXISTS", key))

    async def _renew(self, key: Key, left_ms: int) -> None:
        """Reading keeps a timeline alive; at most one write a day for it."""
        if 0 <= left_ms < self._kind.ttl_ms - DAY_MS:
            await self._place[key].execute("PEXPIRE", key, self._kind.ttl_ms)

    # Pushing

    async def push(self, owners: Sequence[int], post_id: PostId) -> None:
        """Deliver one id to many timelines, once as readers see it however often it is called."""
        await self._pushing.push([b"%d" % owner for owner in owners], post_id)

    async def push_encoded(self, names: Sequence[bytes], post_id: PostId) -> None:
        """As `push`; the owners' ids in decimal, as a pass has read them."""
        await self._pushing.push(names, post_id)

    async def insert(self, owners: Sequence[int], post_id: PostId) -> None:
        """Deliver one id that is late, or may have been delivered before: in its place, and only once."""
        await self._pushing.insert(owners, post_id)

    # Forgetting and building

    async def invalidate(self, owner: int) -> None:
        """The next read rebuilds it; a build in flight is defeated."""
        await self.invalidate_many([owner])

    async def invalidate_many(self, owners: Sequence[int]) -> None:
        """Confirmed like what is forgotten for: a replica that takes over must not bring back an old one."""
        await self._pushing.invalidate(owners)

    async def begin_build(self, owner: int) -> str | None:
        """Put the building token in first; None where the timeline stands or somebody else builds it."""
        key, token = self._kind.key_of(owner), secrets.token_hex(8)
        begun = await self._place[key].run(BEGIN, [key], [token, BUILD_TTL_MS])
        return token if begun else None

    async def finish_build(self, owner: int, token: str, ids: Sequence[PostId], floor: int) -> bool:
        """Merge `ids` (all that the sources hold above `floor`) with what arrived; False: token gone."""
        key = self._kind.key_of(owner)
        args = [token, self._kind.cap, self._kind.ttl_ms, floor, *ids]
        return bool(await self._place[key].run(FINISH, [key], args))


@lru_cache(maxsize=KEY_CACHE_SIZE)
def _look(key: Key, limit: int) -> tuple[Command, ...]:
    return (
        prepare_command("LRANGE", key, 0, limit - 1),
        prepare_command("LINDEX", key, -1),
        prepare_command("PTTL", key),
    )


def parse_cached_head(head: Sequence[bytes], last: bytes) -> CachedHead:
    """What a reader may believe of the elements it got."""
    floor = -int(last)
    whole = bool(head) and head[-1].startswith(b"-")
    numbers = sorted(map(int, head[:-1] if whole else head), reverse=True)
    settled = 0 if whole or not numbers else numbers[-1] + MAX_DISORDER_IDS
    ids = dict.fromkeys(numbers if not numbers or numbers[-1] > floor else [n for n in numbers if n > floor])
    return CachedHead(cast("tuple[PostId, ...]", tuple(ids)), floor, whole, settled)
