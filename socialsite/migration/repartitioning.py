"""Cuts the edges of a component into another number of partitions while the site serves.

The new partitions are built beside the old ones, under another letter. Processes say which keys they wrote
meanwhile, and those are copied again, round after round, until few are left; then writers wait for a moment,
the last are copied and compared, and everybody turns over. The old partitions stay for whoever still reads
them, and are deleted after `GRACE_S`.

Knows no application: `sides` are the names of the two ends of its edges ("following", "followers").
"""

import asyncio
from dataclasses import dataclass, field

from socialsite.migration.edge_copying import EdgeCopier, Owner
from socialsite.migration.errors import MoveRefused, MoverReplaced, SlowFollowers
from socialsite.migration.followers import Followers
from socialsite.migration.placement_registry import Board
from socialsite.migration.progress import OnStep, Step
from socialsite.migration.record import FROZEN, MOVED, SOURCE, TURNED, Placement, Reshape
from socialsite.migration.store_pool import Lock, Places
from socialsite.store.errors import StoreUnavailable
from socialsite.store.key import Key

GRACE_S = 60.0
"""Longer than any job or request that may still read the old partitions."""
FIRST_WITHIN_S = 15.0
FROZEN_MOST_S = 2.5
FEW = 50
"""Owners whose edges are copied while writers wait: a few milliseconds each."""
MOST_ROUNDS = 30
TRIES = 8
PAUSE_S = 0.5


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
        self._places = places
        self._lock = lock
        self._record = record
        self._reshape: Reshape = record.move.reshape
        self._recorded = recorded
        self._store = places.store(record.url_of(self._reshape.component))
        self._copier = EdgeCopier(self._store, self._reshape, sides)
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
        await self._places.cut_all_but(self._record.move.id)
        if self._state != MOVED:
            await self._turn_over()
        self._on_step(Step("waiting", -1, 1, 1))
        await asyncio.sleep(grace_s)
        for url in (self._record.url_of(self._reshape.component), self._places.home):
            await self._places.confirm(url)
        await self._copier.clear(self._reshape.source)
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
                self.report.edges = await self._copier.copy_all()
                self._on_step(Step("copying", -1, 0, 1))
            await self._advance(SOURCE)
            await self._followers.follow(self._record.epoch, FIRST_WITHIN_S)
            owners = await self._touched()
            await self._copier.copy(owners)
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
                await self._copier.copy(owners)
                await self._copier.compare(owners)
                await self._places.confirm(self._record.url_of(self._reshape.component))
                await self._advance(TURNED)
                await self._followers.follow(self._record.epoch, FROZEN_MOST_S)
                self._on_step(Step("turning", -1, 0, 1))
        except (TimeoutError, SlowFollowers, StoreUnavailable):
            self._record = await self._board.read()
            self._is_whole = False  # what was touched may have been read and not copied
            await self._advance(SOURCE)
            await self._followers.follow(self._record.epoch, FIRST_WITHIN_S)
            return False
        node = self._store.node(self._recorded)
        await node.execute("SET", self._recorded, self._reshape.target.count)
        await self._advance(MOVED)
        await self._followers.follow(self._record.epoch, FIRST_WITHIN_S)  # who waited has heard where to
        return True

    async def _touched(self) -> set[Owner]:
        """Owners of edges that were written since the last round."""
        names = await self._board.take_touched(0)
        return {owner for name in names for owner in self._copier.owner(Key.parse(name))}

    # Steps

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
