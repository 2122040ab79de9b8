"""Home and list timelines: short LISTs of ids, caches of the profiles they are made of.

The rules that make them exact, all in this module and its scripts:

- the last element is the floor, "-f": every post the timeline should hold with id > f is in the list; below
  it nothing is promised and readers take older entries from the profiles;
- push is LPUSHX: an absent timeline costs nothing and is never created by a push;
- an id older than LATE_MS at delivery is inserted in order instead; a push whose reply comes late, or not at
  all, deletes the timelines it went to. So the list is sorted but for MARGIN_MS of id time;
- a build stands under a token; whoever forgets the timeline removes the token, and the build aborts.
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from socialsite.ids import LOW_BITS, Now, PostId, ms_of
from socialsite.store import (
    Command,
    Key,
    Node,
    Redirected,
    Reply,
    Store,
    StoreError,
    StoreUnavailable,
    Unconfirmed,
    load,
)

LATE_MS = 2_000
MARGIN_MS = 5_000
MARGIN = MARGIN_MS << LOW_BITS  # in ids
BUILD_TTL_MS = 30_000
DAY_MS = 86_400_000
PUSH_PART = 250  # pushes sent at once
SCRIPT_BATCH = 200  # scripts in one round trip: about 10 ms of the server at most
FORGET_TRIES, FORGET_WAIT_S = 40, 0.5
LENGTHS = frozenset((int,))  # what a push answers, unless it is an error

TRIM = load("cached_trim.lua", __package__)
INSERT = load("cached_insert.lua", __package__)
BEGIN = load("cached_begin.lua", __package__)
FINISH = load("cached_finish.lua", __package__)


@dataclass(frozen=True, slots=True)
class CachedPart:
    """The head of a cached timeline: distinct ids above the floor, newest first.

    `whole`: the list ends here. Otherwise ids down to `settled` are in their final order (MARGIN_MS).
    """

    ids: tuple[PostId, ...]
    floor: int
    whole: bool
    settled: int = 0


@dataclass(frozen=True, slots=True)
class CachedKind:
    """What tells homes from list timelines."""

    key_of: Callable[[int], Key]
    pattern: bytes  # of the same keys, for passes encoded by hand
    cap: int
    ttl_ms: int
    ahead: int = 30  # ids read beyond a page, so that the margin rarely asks for a second read


class CachedTimelines:
    """All timelines of one kind; owners are account ids for homes, list ids for lists."""

    def __init__(self, store: Store, clock: Now, kind: CachedKind) -> None:
        self._place = store.component("timelines")
        self._store = store
        self._clock = clock
        self._kind = kind
        self._slack = max(1, kind.cap // 10)

    @property
    def cap(self) -> int:
        return self._kind.cap

    @property
    def width(self) -> int:
        """Over how many nodes the timelines are spread."""
        return self._store.width("timelines")

    @property
    def ahead(self) -> int:
        return self._kind.ahead

    # Reading

    async def read(self, owner: int, limit: int) -> CachedPart | None:
        """The newest `limit` ids at least; None where the timeline is absent or being built."""
        key = self._kind.key_of(owner)
        head, last, left_ms = await self._place[key].pipeline(
            [("LRANGE", key, 0, limit - 1), ("LINDEX", key, -1), ("PTTL", key)]
        )
        if last is None or not head or last.startswith(b"b") or head[-1].startswith(b"b"):
            return None  # absent or being built, at one of the two looks
        await self._renew(key, left_ms)
        return part_of(head, last)

    async def read_whole(self, owner: int) -> CachedPart | None:
        """Everything: bounded by cap and slack."""
        return await self.read(owner, 2 * self._kind.cap + 2 * self._slack)

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
        if not owners:
            return
        if self._is_late(post_id):
            await self.insert(owners, post_id)
            return
        groups = self._store.group("timelines", owners, self._kind.key_of)
        await asyncio.gather(*(self._push_to(node, part, post_id) for node, part in groups))

    async def _push_to(self, node: Node, owners: Sequence[int], post_id: PostId) -> None:
        try:
            lengths = await self._send(node, owners, post_id)
        except Unconfirmed:
            raise  # it stands; whoever pushes again inserts it, and readers see it once
        except StoreUnavailable:
            await self._forget_for_sure(node, owners)
            raise
        moved: list[int] = []
        landed = list(zip(owners, lengths, strict=True))
        if not LENGTHS.issuperset(map(type, lengths)):
            moved = [owner for owner, length in landed if isinstance(length, Redirected)]
            landed = [(o, require_length(n)) for o, n in landed if not isinstance(n, Redirected)]
        if self._is_late(post_id):
            await self.forget_many([owner for owner, length in landed if length])
        else:
            most = self._kind.cap + 1 + self._slack  # the least of _most
            await self._trim(node, [o for o, n in landed if n > most and n > self._most(o)])
        # Their slots are on their way to another node: scripts are followed there, bare bytes are not.
        await self.insert(moved, post_id)

    async def _send(self, node: Node, owners: Sequence[int], post_id: PostId) -> list[Reply]:
        """The pushes of a pass in a few parts: the server works on one while the next is written."""
        confirm = self._store.require_replicas
        parts = [owners[start : start + PUSH_PART] for start in range(0, len(owners), PUSH_PART)]
        answers = await asyncio.gather(
            *(
                node.send_encoded(pass_payload(self._kind.pattern, part, post_id), len(part), confirm=confirm)
                for part in parts
            )
        )
        return list(chain.from_iterable(answers))

    def _most(self, owner: int) -> int:
        """Length at which a timeline is trimmed: cap, floor and a slack that differs by owner."""
        return self._kind.cap + 1 + self._slack + owner % self._slack

    def _is_late(self, post_id: PostId) -> bool:
        return self._clock.now_ms() - ms_of(post_id) > LATE_MS

    async def _trim(self, node: Node, owners: Sequence[int]) -> None:
        await self._run_each(node, [trim_command(self._kind.key_of(o), self._kind.cap) for o in owners])

    async def insert(self, owners: Sequence[int], post_id: PostId) -> None:
        """Deliver one id that is late, or may have been delivered before: in its place, and only once."""
        for node, part in self._store.group("timelines", owners, self._kind.key_of):
            commands = [INSERT.command([self._kind.key_of(owner)], [post_id]) for owner in part]
            lengths = await self._store.write_each(commands)
            await self._trim(node, [o for o, n in zip(part, lengths, strict=True) if n > self._most(o)])

    @staticmethod
    async def _run_each(node: Node, commands: Sequence[Command]) -> list[Reply]:
        replies: list[Reply] = []
        for start in range(0, len(commands), SCRIPT_BATCH):
            replies += await node.pipeline(commands[start : start + SCRIPT_BATCH])
        return replies

    # Forgetting and building

    async def forget(self, owner: int) -> None:
        """The next read rebuilds it; a build in flight is defeated."""
        await self.forget_many([owner])

    async def forget_many(self, owners: Sequence[int]) -> None:
        """Confirmed like what is forgotten for: a replica that takes over must not bring back an old one."""
        await self._store.write_each([("DEL", self._kind.key_of(owner)) for owner in owners])

    async def _forget_for_sure(self, node: Node, owners: Sequence[int]) -> None:
        """After a push whose fate is unknown: it may land late, so these timelines must go."""
        for _ in range(FORGET_TRIES):
            try:
                await node.pipeline([("DEL", self._kind.key_of(owner)) for owner in owners])
            except StoreUnavailable:
                await asyncio.sleep(FORGET_WAIT_S)
            else:
                return

    async def begin(self, owner: int) -> str | None:
        """Put the building token in first; None where the timeline stands or somebody else builds it."""
        key, token = self._kind.key_of(owner), secrets.token_hex(8)
        begun = await self._place[key].run(BEGIN, [key], [token, BUILD_TTL_MS])
        return token if begun else None

    async def finish(self, owner: int, token: str, ids: Sequence[PostId], floor: int) -> bool:
        """Merge `ids` (all that the sources hold above `floor`) with what arrived; False: token gone."""
        key = self._kind.key_of(owner)
        args = [token, self._kind.cap, self._kind.ttl_ms, floor, *ids]
        return bool(await self._place[key].run(FINISH, [key], args))


def trim_command(key: Key, cap: int) -> Command:
    """Cuts a home or list timeline back to its cap, where it stands; harmless where it does not."""
    return TRIM.command([key], [cap, MARGIN])


def require_length(reply: Reply) -> int:
    """The reply of a push. Raises what stands in its place."""
    if isinstance(reply, StoreError):
        raise reply
    return int(reply)


def part_of(head: Sequence[bytes], last: bytes) -> CachedPart:
    """What a reader may believe of the elements it got."""
    floor = -int(last)
    whole = bool(head) and head[-1].startswith(b"-")
    numbers = [int(element) for element in (head[:-1] if whole else head)]
    ids = sorted({number for number in numbers if number > floor}, reverse=True)
    settled = 0 if whole or not numbers else min(numbers) + MARGIN
    return CachedPart(tuple(PostId(number) for number in ids), floor, whole, settled)


def pass_payload(pattern: bytes, owners: Sequence[int], post_id: PostId) -> bytes:
    """LPUSHX of one id to many keys, encoded once: only the key differs."""
    number = b"%d" % post_id
    tail = b"\r\n$%d\r\n%b\r\n" % (len(number), number)
    bare = len(pattern) - 2  # the pattern without its %d
    heads: dict[int, bytes] = {}
    parts: list[bytes] = []
    for owner in owners:
        digits = len(str(owner))
        head = heads.get(digits)
        if head is None:
            head = b"*3\r\n$6\r\nLPUSHX\r\n$%d\r\n%b%b" % (bare + digits, pattern, tail)
            heads[digits] = head
        parts.append(head % owner)
    return b"".join(parts)
