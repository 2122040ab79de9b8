"""Delivery of a post id to home and list timelines: pushes of a pass, late ids, trimming (rules: repository.py).

The owners of a pass stay bytes (decimal digits) from the reply of Redis to the next command: parsing and encoding
them took most of the worker's time (docs/benchmarks.md, B1).
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

PUSHES_PER_ROUND_TRIP = 1_000  # 0.5 ms of the server
SCRIPTS_PER_ROUND_TRIP = 200  # at most about 10 ms of the server
INVALIDATE_ATTEMPTS, INVALIDATE_WAIT_S = 40, 0.5
REPLY_TYPES = frozenset((int,))  # of a push that is no error

TRIM = load_script("cached_trim.lua", __package__)
INSERT = load_script("cached_insert.lua", __package__)


class TimelinePusher:
    """Delivers to timelines of one kind that are cached; it creates none."""

    def __init__(self, store: Store, clock: TimeSource, spec: TimelineCacheSpec) -> None:
        self._store = store
        self._clock = clock
        self._spec = spec
        # By the byte of the owner's last digit.
        self._max_lengths = {ord(str(digit)): spec.max_length(digit) for digit in range(10)}

    async def push(self, owners: Sequence[bytes], post_id: PostId) -> None:
        """Deliver an id to the timelines of owners, given in decimal digits. Readers see a repetition once."""
        if not owners:
            return
        if self._is_late(post_id):
            await self.insert(list(map(int, owners)), post_id)
            return
        parts = list(self._parts(owners))
        if len(parts) == 1:
            await self._push_to(*parts[0], post_id)
        else:
            await asyncio.gather(*(self._push_to(node, part, post_id) for node, part in parts))

    async def insert(self, owners: Sequence[int], post_id: PostId) -> None:
        """Insert an id that is late, or may have been delivered before, at its position, and only once."""
        for node, part in self._store.group_by_node("timelines", owners, self._spec.key_of):
            commands = [INSERT.command([self._spec.key_of(owner)], [post_id]) for owner in part]
            lengths = await self._store.write_each(commands)
            await self._trim(node, [o for o, n in zip(part, lengths, strict=True) if n > self._spec.max_length(o)])

    async def invalidate(self, owners: Sequence[int]) -> None:
        """Delete timelines, with the durability of the change of their sources: no replica may restore an old one."""
        await self._store.write_each([("DEL", self._spec.key_of(owner)) for owner in owners])

    def _parts(self, owners: Sequence[bytes]) -> Iterator[tuple[Node, Sequence[bytes]]]:
        """Group owners by node, at most PUSHES_PER_ROUND_TRIP together."""
        for node, group in self._store.group_by_node("timelines", owners, self._spec.key_of):
            for start in range(0, len(group), PUSHES_PER_ROUND_TRIP):
                yield node, group[start : start + PUSHES_PER_ROUND_TRIP]

    async def _push_to(self, node: Node, owners: Sequence[bytes], post_id: PostId) -> None:
        owners = shortest_first(owners)
        payload = encode_pushes(self._spec.key_pattern, owners, post_id)
        try:
            lengths = await node.send_encoded(payload, len(owners), required_replicas=self._store.require_replicas)
        except NotDurable:
            raise  # the id is stored; a repetition inserts it, and readers see it once
        except StoreUnavailable:
            await self._invalidate_with_retries(node, owners)
            raise
        moved: list[int] = []
        wrong_type: list[int] = []
        if not REPLY_TYPES.issuperset(map(type, lengths)):
            moved = _owners_with_error(ClusterRedirection, owners, lengths)
            wrong_type = _owners_with_error(WrongType, owners, lengths)
            lengths = [0 if isinstance(n, ClusterRedirection | WrongType) else require_length(n) for n in lengths]
        if self._is_late(post_id):
            await self.invalidate([int(owner) for owner, length in zip(owners, lengths, strict=True) if length])
        else:
            await self._trim(node, self._too_long(owners, lengths))
        # Slots that migrate to another node: encoded commands cannot follow redirections, so use the script.
        await self.insert(moved, post_id)
        await self.invalidate(wrong_type)  # a key of the wrong type must not fail the whole batch again and again

    def _too_long(self, owners: Sequence[bytes], lengths: Sequence[int]) -> list[int]:
        """Return the owners of timelines that are too long."""
        max_lengths, least = self._max_lengths, self._spec.max_length(0)
        if max(lengths) <= least:
            return []
        pairs = zip(owners, lengths, strict=True)
        return [int(owner) for owner, length in pairs if length > least and length > max_lengths[owner[-1]]]

    def _is_late(self, post_id: PostId) -> bool:
        return self._clock.now_ms() - ms_from_id(post_id) > LATE_MS

    async def _trim(self, node: Node, owners: Sequence[int]) -> None:
        commands = [trim_command(self._spec.key_of(owner), self._spec.cap) for owner in owners]
        for start in range(0, len(commands), SCRIPTS_PER_ROUND_TRIP):
            await node.pipeline(commands[start : start + SCRIPTS_PER_ROUND_TRIP])

    async def _invalidate_with_retries(self, node: Node, owners: Sequence[bytes]) -> None:
        """Delete timelines after a push with an unknown result: it may be applied late, in the wrong order."""
        for _ in range(INVALIDATE_ATTEMPTS):
            try:
                await node.pipeline([("DEL", self._spec.key_of(int(owner))) for owner in owners])
            except StoreUnavailable:
                await asyncio.sleep(INVALIDATE_WAIT_S)
            else:
                return


def trim_command(key: Key, cap: int) -> Command:
    """Return the command that cuts a timeline back to its cap; it has no effect if the timeline is absent."""
    return TRIM.command([key], [cap, MAX_DISORDER_IDS])


def require_length(reply: Reply) -> int:
    """Return the reply of a push. Raises it if it is an error."""
    if isinstance(reply, StoreError):
        raise reply
    return int(reply)


def _owners_with_error(error: type[StoreError], owners: Sequence[bytes], lengths: Sequence[Reply]) -> list[int]:
    """Return the owners with a reply that is an error of this class."""
    return [int(owner) for owner, length in zip(owners, lengths, strict=True) if isinstance(length, error)]


def shortest_first(owners: Sequence[bytes]) -> Sequence[bytes]:
    """Sort owners by their number of digits: commands of one length differ only in the digits."""
    return owners if len(set(map(len, owners))) == 1 else sorted(owners, key=len)


def encode_pushes(pattern: bytes, owners: Sequence[bytes], post_id: PostId) -> bytes:
    """Return the LPUSHX commands of one id to the keys of all owners, which are sorted by their number of digits.

    The bytes between two owners of one length are equal, so that one join encodes all of them: 0.01 us per owner.
    """
    number = b"%d" % post_id
    before, after = pattern.split(b"%d")
    tail = b"%b\r\n$%d\r\n%b\r\n" % (after, len(number), number)
    bare, parts, start = len(before) + len(after), [], 0
    while start < len(owners):
        digits = len(owners[start])
        end = bisect_right(owners, digits, lo=start, key=len)
        head = b"*3\r\n$6\r\nLPUSHX\r\n$%d\r\n%b" % (bare + digits, before)
        parts += [head, (tail + head).join(owners[start:end]), tail]
        start = end
    return b"".join(parts)
