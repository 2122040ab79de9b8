"""Cuts the edges of a component into another number of partitions while the site serves.

The new partitions are built beside the old ones, under another letter. Processes say which keys they wrote
meanwhile, and those are copied again, round after round, until few are left; then writers wait for a moment,
the last are copied and compared, and everybody turns over. The old partitions stay for whoever still reads
them, and are deleted after `GRACE_S`.

Knows no application: `sides` are the names of the two ends of its edges ("following", "followers").
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from socialsite.store.connections import Layout, partition_of
from socialsite.store.errors import StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.moving.board import Board
from socialsite.store.moving.errors import MoveRefused, MoverReplaced, SlowFollowers
from socialsite.store.moving.followers import Followers
from socialsite.store.moving.listing import scanned
from socialsite.store.moving.places import Lock, Places
from socialsite.store.moving.record import FROZEN, MOVED, SOURCE, TURNED, Placement, Reshape
from socialsite.store.moving.steps import OnStep, Step
from socialsite.store.node import Reply
from socialsite.store.scripts import Command

GRACE_S = 60.0
"""Longer than any job or request that may still read the old partitions."""
FIRST_WITHIN_S = 15.0
FROZEN_MOST_S = 2.5
FEW = 50
"""Owners whose edges are copied while writers wait: a few milliseconds each."""
MOST_ROUNDS = 30
TRIES = 8
PAUSE_S = 0.5
OWNERS_AT_ONCE = 50

Owner = tuple[str, int]
Edges = dict[int, int]  # the other end -> ms


@dataclass(slots=True)
class Reshaped:
    """What was done: edges by the name of their outgoing side."""

    edges: dict[str, int] = field(default_factory=dict)
    rounds: int = 0
    retried: int = 0


class Reshaper:
    """Of one record whose move is a reshaping. The caller holds the lock."""

    def __init__(
        self,
        board: Board,
        places: Places,
        lock: Lock,
        record: Placement,
        sides: dict[str, str],
        recorded: Key,
        on_step: OnStep | None = None,
    ) -> None:
        assert record.move is not None
        assert record.move.reshape is not None
        self._board = board
        self._lock = lock
        self._record = record
        self._reshape: Reshape = record.move.reshape
        self._sides = sides
        self._recorded = recorded
        self._store = places.store(record.url_of(self._reshape.component))
        self._is_whole = False
        self._followers = Followers(board, places, self._distrust)
        self._on_step = on_step or (lambda step: None)
        self.report = Reshaped()

    @property
    def record(self) -> Placement:
        return self._record

    async def run(self, grace_s: float) -> None:
        """Until the old partitions are gone. May be run again by another mover at any point."""
        assert self._record.move is not None
        await self._advance(self._record.move.slices[0] if self._state == MOVED else SOURCE)
        await self._followers.follow(self._record.epoch, FIRST_WITHIN_S)
        if self._state != MOVED:
            await self._clear(self._reshape.target)
            await self._turn_over()
        self._on_step(Step("waiting", -1, 1, 1))
        await asyncio.sleep(grace_s)
        await self._clear(self._reshape.source)
        layouts = {**self._record.layouts, self._reshape.component: self._reshape.target}
        await self._write(self._record.after(move=None, layouts=layouts))
        await self._followers.follow(self._record.epoch, FIRST_WITHIN_S)

    @property
    def _state(self) -> int:
        assert self._record.move is not None
        return self._record.move.slices[0]

    # Copying

    async def _turn_over(self) -> None:
        for _ in range(TRIES):
            await self._catch_up()
            if await self._try():
                return
            self.report.retried += 1
            await asyncio.sleep(PAUSE_S)
        raise MoveRefused(
            "the edges could not be turned over in a moment: everything is as before; repeat it when the "
            "site is quieter"
        )

    async def _catch_up(self) -> None:
        """Copy everything, then what was written meanwhile, until that is little."""
        for _ in range(MOST_ROUNDS):
            if not self._is_whole:
                self._is_whole = True
                await self._copy_all()
                self._on_step(Step("copying", -1, 0, 1))
            await self._advance(SOURCE)
            await self._followers.follow(self._record.epoch, FIRST_WITHIN_S)
            owners = await self._touched()
            await self._copy(owners)
            self.report.rounds += 1
            if self._is_whole and len(owners) <= FEW:
                return

    async def _try(self) -> bool:
        try:
            async with asyncio.timeout(FROZEN_MOST_S):
                await self._advance(FROZEN)
                await self._followers.follow(self._record.epoch, FROZEN_MOST_S)
                if not self._is_whole:
                    raise SlowFollowers([])
                owners = await self._touched()
                await self._copy(owners)
                await self._compare(owners)
                await self._advance(TURNED)
                await self._followers.follow(self._record.epoch, FROZEN_MOST_S)
                self._on_step(Step("turning", -1, 0, 1))
        except (TimeoutError, SlowFollowers, StoreUnavailable):
            self._record = await self._board.read()
            self._is_whole = False  # what was touched may have been read and not copied
            await self._advance(SOURCE)
            return False
        node = self._store.node(self._recorded)
        await node.execute("SET", self._recorded, self._reshape.target.count)
        await self._advance(MOVED)
        return True

    async def _copy_all(self) -> None:
        owners: set[Owner] = set()
        for node in self._store.nodes:
            async for key in scanned(node):
                if key.component == self._reshape.component and self._reshape.source.holds(key.tag):
                    owners |= self._owner(key)
        await self._copy(owners)
        for name in self._sides:
            self.report.edges[name] = 0
        for part in _parts(owners):
            for (name, _), edges in (await self._read(self._reshape.source, part)).items():
                self.report.edges[name] += len(edges)

    async def _copy(self, owners: Iterable[Owner]) -> None:
        """Make the new partitions hold just the edges that the old ones hold, of these owners."""
        for part in _parts(owners):
            wanted = await self._read(self._reshape.source, part)
            held = await self._read(self._reshape.target, part)
            commands: list[Command] = []
            for owner in part:
                commands += self._changes(owner, wanted[owner], held[owner])
            await self._store.gather(commands)

    async def _compare(self, owners: Iterable[Owner]) -> None:
        for part in _parts(owners):
            if await self._read(self._reshape.source, part) != await self._read(self._reshape.target, part):
                raise MoveRefused("edges arrived differently from how they left: nothing was changed over")

    def _changes(self, owner: Owner, wanted: Edges, held: Edges) -> list[Command]:
        (name, id), layout = owner, self._reshape.target
        commands: list[Command] = []
        for other in held.keys() - wanted.keys():
            tag = layout.tag(partition_of(id, other, layout.count))
            commands += [("ZREM", self._key(tag, name, id), other)]
            commands += [("ZREM", self._key(tag, self._sides[name], other), id)]
        for other, at_ms in wanted.items():
            if held.get(other) != at_ms:
                tag = layout.tag(partition_of(id, other, layout.count))
                commands += [("ZADD", self._key(tag, name, id), at_ms, other)]
                commands += [("ZADD", self._key(tag, self._sides[name], other), at_ms, id)]
        return commands

    async def _read(self, layout: Layout, owners: Sequence[Owner]) -> dict[Owner, Edges]:
        keys = [self._key(tag, name, id) for name, id in owners for tag in layout.tags]
        replies = await self._store.gather([("ZRANGE", key, 0, -1, "WITHSCORES") for key in keys])
        width = layout.count
        return {
            owner: _edges(replies[place * width : (place + 1) * width]) for place, owner in enumerate(owners)
        }

    async def _touched(self) -> set[Owner]:
        """Owners of edges that were written since the last round."""
        names = await self._board.take_touched(0)
        return {owner for name in names for owner in self._owner(Key.parse(name))}

    def _owner(self, key: Key) -> set[Owner]:
        """Whose outgoing edges a key holds; none for the other ends, which change together with them."""
        name, _, id = key.partition("}:")[2].partition(":")
        return {(name, int(id))} if name in self._sides and id.isdigit() else set()

    def _key(self, tag: str, name: str, id: int) -> Key:
        return Key(self._reshape.component, tag=tag, name=f"{name}:{id}")

    # Clearing, steps

    async def _clear(self, layout: Layout) -> None:
        """Delete all partitions of a layout."""
        for node in self._store.nodes:
            keys = [key async for key in scanned(node)]
            ours = [k for k in keys if k.component == self._reshape.component and layout.holds(k.tag)]
            for start in range(0, len(ours), 1_000):
                await self._store.gather([("UNLINK", key) for key in ours[start : start + 1_000]])

    def _distrust(self) -> None:
        """A process died without saying what it wrote."""
        self._is_whole = False

    async def _advance(self, state: int) -> None:
        assert self._record.move is not None
        await self._write(self._record.after(move=self._record.move.with_states({0: state})))

    async def _write(self, record: Placement) -> None:
        if not await self._board.advance(record, self._record.epoch, self._lock.token):
            raise MoverReplaced
        self._record = record


def _edges(replies: Iterable[Reply]) -> Edges:
    return {
        int(member): int(float(score))
        for reply in replies
        for member, score in zip(reply[::2], reply[1::2], strict=True)
    }


def _parts(owners: Iterable[Owner]) -> Iterable[list[Owner]]:
    left = iter(owners)
    while part := list(islice(left, OWNERS_AT_ONCE)):
        yield part
