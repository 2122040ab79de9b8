"""Delivers a post id to cached homes and list timelines, and trims them. repository.py has the rules.

The owners of a pass remain bytes (decimal digits) from the reply of Redis to the next command. Parsing and encoding
them took most of the worker's time (docs/reference/benchmarks.md, B1).
"""

import asyncio
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from socialsite.concurrency import run_together
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

PUSHES_PER_ROUND_TRIP = 1_000  # takes 0.5 ms on the server
ENCODED_DELETIONS_MIN = 100
SCRIPTS_PER_ROUND_TRIP = 200  # takes at most about 10 ms on the server
INVALIDATE_ATTEMPTS, INVALIDATE_WAIT_S = 40, 0.5
REPLY_TYPES = frozenset((int,))  # the types of replies to a successful push

TRIM = load_script("cached_trim.lua", __package__)
INSERT = load_script("cached_insert.lua", __package__)


class TimelinePusher:
    """Delivers ids to the cached timelines of one kind. It creates no timeline."""

    def __init__(self, store: Store, clock: TimeSource, spec: TimelineCacheSpec) -> None:
        self._store = store
        self._clock = clock
        self._spec = spec
        # The key is the byte of the last digit of the owner.
        self._max_lengths = {ord(str(digit)): spec.max_length(digit) for digit in range(10)}

    async def push(self, owners: Sequence[bytes], post_id: PostId) -> None:
        """Deliver an id to the timelines of `owners` (decimal digits). Readers show a repeated id only once."""
        if not owners:
            return
        if self._is_late(post_id):
            await self.insert(list(map(int, owners)), post_id)
            return
        parts = list(self._parts(owners))
        if len(parts) == 1:
            await self._push_to(*parts[0], post_id)
        else:
            await run_together(*(self._push_to(node, part, post_id) for node, part in parts))

    async def insert(self, owners: Sequence[int], post_id: PostId) -> None:
        """Insert an id at its position unless it is present. Use this for late and repeated deliveries."""
        for node, part in self._store.group_by_node("timelines", owners, self._spec.key_of):
            commands = [INSERT.command([self._spec.key_of(owner)], [post_id]) for owner in part]
            lengths = await self._store.write_all(commands)
            await self._trim(node, [o for o, n in zip(part, lengths, strict=True) if n > self._spec.max_length(o)])

    async def invalidate(self, owners: Sequence[int]) -> None:
        """Delete timelines.

        As many replicas confirm this as confirm a write of the sources, so that no failover restores an outdated
        timeline. An import deletes the homes of millions of followers, so many commands are encoded together.
        """
        if len(owners) >= ENCODED_DELETIONS_MIN:
            parts = list(self._parts([b"%d" % owner for owner in owners]))
            owners = [id for ids in await run_together(*(self._delete(*part) for part in parts)) for id in ids]
        await self._store.write_all([("DEL", self._spec.key_of(owner)) for owner in owners])

    async def _delete(self, node: Node, owners: Sequence[bytes]) -> list[int]:
        """Delete timelines of one node. Return the owners whose timelines may still exist, because the node failed."""
        owners = shortest_first(owners)
        payload = encode_for_owners(b"*2\r\n$3\r\nDEL\r\n", self._spec.key_pattern, owners)
        try:
            replies = await node.send_encoded(payload, len(owners), required_replicas=self._store.require_replicas)
        except StoreUnavailable:
            return list(map(int, owners))
        return [int(owner) for owner, reply in zip(owners, replies, strict=True) if isinstance(reply, StoreError)]

    def _parts(self, owners: Sequence[bytes]) -> Iterator[tuple[Node, Sequence[bytes]]]:
        """Group owners by node, in parts of at most PUSHES_PER_ROUND_TRIP."""
        for node, group in self._store.group_by_node("timelines", owners, self._spec.key_of):
            for start in range(0, len(group), PUSHES_PER_ROUND_TRIP):
                yield node, group[start : start + PUSHES_PER_ROUND_TRIP]

    async def _push_to(self, node: Node, owners: Sequence[bytes], post_id: PostId) -> None:
        owners = shortest_first(owners)
        payload = encode_pushes(self._spec.key_pattern, owners, post_id)
        try:
            lengths = await node.send_encoded(payload, len(owners), required_replicas=self._store.require_replicas)
        except NotDurable:
            raise  # the id is stored, and the job is repeated; readers show an id once
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
        # If keys migrate to another node, encoded commands cannot follow the redirection. Use the script instead.
        await self.insert(moved, post_id)
        await self.invalidate(wrong_type)  # otherwise a key of the wrong type would fail each repetition of the batch

    def _too_long(self, owners: Sequence[bytes], lengths: Sequence[int]) -> list[int]:
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
            await node.execute_all(commands[start : start + SCRIPTS_PER_ROUND_TRIP])

    async def _invalidate_with_retries(self, node: Node, owners: Sequence[bytes]) -> None:
        """Delete timelines after a push whose result is unknown, because the server may apply the push later."""
        for _ in range(INVALIDATE_ATTEMPTS):
            try:
                await node.execute_all([("DEL", self._spec.key_of(int(owner))) for owner in owners])
            except StoreUnavailable:
                await asyncio.sleep(INVALIDATE_WAIT_S)
            else:
                return


def trim_command(key: Key, cap: int) -> Command:
    """Return the command that trims a timeline to its cap. It has no effect if the timeline is absent."""
    return TRIM.command([key], [cap, MAX_DISORDER_IDS])


def require_length(reply: Reply) -> int:
    """Return the length in the reply to a push. If the reply is an error, raise it."""
    if isinstance(reply, StoreError):
        raise reply
    return int(reply)


def _owners_with_error(error: type[StoreError], owners: Sequence[bytes], lengths: Sequence[Reply]) -> list[int]:
    """Return the owners whose reply is an error of this class."""
    return [int(owner) for owner, length in zip(owners, lengths, strict=True) if isinstance(length, error)]


def shortest_first(owners: Sequence[bytes]) -> Sequence[bytes]:
    """Sort owners by their number of digits. Commands of the same length differ only in the digits."""
    return owners if len(set(map(len, owners))) == 1 else sorted(owners, key=len)


def encode_pushes(pattern: bytes, owners: Sequence[bytes], post_id: PostId) -> bytes:
    """Return the encoded LPUSHX commands that push one id to the timelines of all owners.

    `owners` must be sorted by their number of digits.
    """
    number = b"%d" % post_id
    return encode_for_owners(b"*3\r\n$6\r\nLPUSHX\r\n", pattern, owners, b"$%d\r\n%b\r\n" % (len(number), number))


def encode_for_owners(command: bytes, pattern: bytes, owners: Sequence[bytes], arguments: bytes = b"") -> bytes:
    """Return one encoded command per owner: its beginning, the key of the owner, and its encoded arguments.

    Between two owners of the same length the bytes are always equal, so that one join encodes all owners of this
    length. It takes 0.01 us per owner.
    """
    before, after = pattern.split(b"%d")
    tail = b"%b\r\n%b" % (after, arguments)
    bare, parts, start = len(before) + len(after), [], 0
    while start < len(owners):
        digits = len(owners[start])
        end = bisect_right(owners, digits, lo=start, key=len)
        head = b"%b$%d\r\n%b" % (command, bare + digits, before)
        parts += [head, (tail + head).join(owners[start:end]), tail]
        start = end
    return b"".join(parts)
