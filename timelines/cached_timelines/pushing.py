"""Bringing an id into home and list timelines: pushes of a pass, late ids, trimming (rules: cached.py).

A pass names owners as sorted sets hold them, in decimal digits, and they stay bytes from the reply they were
read with to the commands they are put into: of the worker's time, most went into turning them into numbers
and back (docs/reference/benchmarks.md, B1).
"""

import asyncio
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from socialsite.ids import PostId, TimeSource, ms_from_id
from socialsite.store import (
    ClusterRedirection,
    Command,
    Key,
    Node,
    NotDurable,
    Reply,
    Store,
    StoreError,
    StoreUnavailable,
    WrongType,
    load_script,
)
from timelines.cached_timelines.spec import LATE_MS, MAX_DISORDER_IDS, TimelineCacheSpec

PUSH_PART = 1_000  # pushes sent at once: 0.5 ms of the server
SCRIPT_BATCH = 200  # scripts in one round trip: about 10 ms of the server at most
FORGET_TRIES, FORGET_WAIT_S = 40, 0.5
LENGTHS = frozenset((int,))  # what a push answers, unless it is an error

TRIM = load_script("cached_trim.lua", __package__)
INSERT = load_script("cached_insert.lua", __package__)


class TimelinePusher:
    """Writes to all timelines of one kind that stand already; it makes none."""

    def __init__(self, store: Store, clock: TimeSource, kind: TimelineCacheSpec) -> None:
        self._store = store
        self._clock = clock
        self._kind = kind
        self._most = {ord(str(digit)): kind.max_length(digit) for digit in range(10)}  # by the last digit's byte

    async def push(self, names: Sequence[bytes], post_id: PostId) -> None:
        """Deliver one id to the timelines of the owners named, once as readers see it."""
        if not names:
            return
        if self._is_late(post_id):
            await self.insert(list(map(int, names)), post_id)
            return
        parts = list(self._parts(names))
        if len(parts) == 1:
            await self._push_to(*parts[0], post_id)
        else:
            await asyncio.gather(*(self._push_to(node, part, post_id) for node, part in parts))

    async def insert(self, owners: Sequence[int], post_id: PostId) -> None:
        """Deliver one id that is late, or may have been delivered before: in its place, and only once."""
        for node, part in self._store.group_by_node("timelines", owners, self._kind.key_of):
            commands = [INSERT.command([self._kind.key_of(owner)], [post_id]) for owner in part]
            lengths = await self._store.write_each(commands)
            await self._trim(node, [o for o, n in zip(part, lengths, strict=True) if n > self._kind.max_length(o)])

    async def invalidate(self, owners: Sequence[int]) -> None:
        """Confirmed like what is forgotten for: a replica that takes over must not bring back an old one."""
        await self._store.write_each([("DEL", self._kind.key_of(owner)) for owner in owners])

    def _parts(self, names: Sequence[bytes]) -> Iterator[tuple[Node, Sequence[bytes]]]:
        """Owners by node, at most PUSH_PART of them together."""
        for node, some in self._store.group_by_node("timelines", names, self._kind.key_of):
            for start in range(0, len(some), PUSH_PART):
                yield node, some[start : start + PUSH_PART]

    async def _push_to(self, node: Node, names: Sequence[bytes], post_id: PostId) -> None:
        names = shortest_first(names)
        payload = encode_pushes(self._kind.key_pattern, names, post_id)
        try:
            lengths = await node.send_encoded(payload, len(names), required_replicas=self._store.require_replicas)
        except NotDurable:
            raise  # it stands; whoever pushes again inserts it, and readers see it once
        except StoreUnavailable:
            await self._forget_for_sure(node, names)
            raise
        moved: list[int] = []
        spoilt: list[int] = []
        if not LENGTHS.issuperset(map(type, lengths)):
            moved = owners_of(ClusterRedirection, names, lengths)
            spoilt = owners_of(WrongType, names, lengths)
            lengths = [0 if isinstance(n, ClusterRedirection | WrongType) else require_length(n) for n in lengths]
        if self._is_late(post_id):
            await self.invalidate([int(name) for name, length in zip(names, lengths, strict=True) if length])
        else:
            await self._trim(node, self._outgrown(names, lengths))
        # Their slots are on their way to another node: scripts are followed there, bare bytes are not.
        await self.insert(moved, post_id)
        await self.invalidate(spoilt)  # a cache that is none: one must not keep the post from the others

    def _outgrown(self, names: Sequence[bytes], lengths: Sequence[int]) -> list[int]:
        """Owners whose timelines are longer than they may be."""
        most, least = self._most, self._kind.max_length(0)
        if max(lengths) <= least:
            return []
        pairs = zip(names, lengths, strict=True)
        return [int(name) for name, length in pairs if length > least and length > most[name[-1]]]

    def _is_late(self, post_id: PostId) -> bool:
        return self._clock.now_ms() - ms_from_id(post_id) > LATE_MS

    async def _trim(self, node: Node, owners: Sequence[int]) -> None:
        """In few round trips of many scripts each."""
        commands = [trim_command(self._kind.key_of(owner), self._kind.cap) for owner in owners]
        for start in range(0, len(commands), SCRIPT_BATCH):
            await node.pipeline(commands[start : start + SCRIPT_BATCH])

    async def _forget_for_sure(self, node: Node, names: Sequence[bytes]) -> None:
        """After a push whose fate is unknown: it may land late, so these timelines must go."""
        for _ in range(FORGET_TRIES):
            try:
                await node.pipeline([("DEL", self._kind.key_of(int(name))) for name in names])
            except StoreUnavailable:
                await asyncio.sleep(FORGET_WAIT_S)
            else:
                return


def trim_command(key: Key, cap: int) -> Command:
    """Cuts a home or list timeline back to its cap, where it stands; harmless where it does not."""
    return TRIM.command([key], [cap, MAX_DISORDER_IDS])


def require_length(reply: Reply) -> int:
    """The reply of a push. Raises what stands in its place."""
    if isinstance(reply, StoreError):
        raise reply
    return int(reply)


def owners_of(kind: type[StoreError], names: Sequence[bytes], lengths: Sequence[Reply]) -> list[int]:
    """Whose push was answered by this error."""
    return [int(name) for name, length in zip(names, lengths, strict=True) if isinstance(length, kind)]


def shortest_first(names: Sequence[bytes]) -> Sequence[bytes]:
    """Names of one length together: the commands of these differ in the name alone."""
    return names if len(set(map(len, names))) == 1 else sorted(names, key=len)


def encode_pushes(pattern: bytes, names: Sequence[bytes], post_id: PostId) -> bytes:
    """LPUSHX of one id to the keys of all owners, shortest names first.

    Everything between two names of one length is the same, so a run of them is one join: 0.01 us an owner.
    """
    number = b"%d" % post_id
    before, after = pattern.split(b"%d")
    tail = b"%b\r\n$%d\r\n%b\r\n" % (after, len(number), number)
    bare, parts, start = len(before) + len(after), [], 0
    while start < len(names):
        digits = len(names[start])
        end = bisect_right(names, digits, lo=start, key=len)
        head = b"*3\r\n$6\r\nLPUSHX\r\n$%d\r\n%b" % (bare + digits, before)
        parts += [head, (tail + head).join(names[start:end]), tail]
        start = end
    return b"".join(parts)
