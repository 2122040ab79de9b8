"""Carries a move out, slice by slice: freeze, copy, verify, turn over, open, delete.

A step is relied upon once every process follows it. What is frozen for too long is given back and tried
again, so a writer waits a moment at most. All that has to outlive the mover stands in the record: any other
mover goes on from it, forwards or back.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field

from socialsite.migration.copying import Copier, Tally
from socialsite.migration.errors import MoveRefused, MoverReplaced, SlowFollowers
from socialsite.migration.followers import Followers
from socialsite.migration.key_inventory import Listing, Untold
from socialsite.migration.placement_registry import Board
from socialsite.migration.progress import OnStep, Step
from socialsite.migration.record import FROZEN, HERE, MOVED, SOURCE, TURNED, Move, Placement
from socialsite.migration.store_pool import Lock, Places
from socialsite.store.errors import StoreUnavailable
from socialsite.store.key import Key

FIRST_WITHIN_S = 15.0
"""For every process to open the target and begin to count."""
FROZEN_MOST_S = 2.5
"""Longer than that no writer is kept waiting: the slice is given back (Relay.WAIT_S is the writers' end)."""
TRIES = 8
PAUSE_S = 0.5


@dataclass(slots=True)
class Report:
    """What a move did."""

    tally: Tally
    slices: int = 0
    retried: int = 0
    strays: list[Key] = field(default_factory=list)
    """Keys at a source that nobody had told of: left alone, to be looked at."""


class Mover:
    """Of one move, whose record hangs on `board`. The caller holds the lock."""

    def __init__(
        self, board: Board, places: Places, lock: Lock, record: Placement, on_step: OnStep | None = None
    ) -> None:
        assert record.move is not None
        self._board = board
        self._places = places
        self._lock = lock
        self._record = record
        self._on_step = on_step or (lambda step: None)
        self._listing = Listing(record.move, places, board)
        self._copier = Copier(places, record.move.paths)
        self._followers = Followers(board, places, self._listing.distrust)
        self.report = Report(self._copier.tally)

    @property
    def move(self) -> Move:
        assert self._record.move is not None
        return self._record.move

    async def run(self) -> Report:
        """Until the last slice has moved and the record says so. Raises MoveRefused."""
        await self._places.cut_other_movers()
        if self.move.thawed() != self.move:
            await self._advance(move=self.move.thawed())
        await self._begin()
        left_behind = [number for number, state in enumerate(self.move.slices) if state == MOVED]
        await self._clear_unmoved_target()
        for number, state in enumerate(self.move.slices):
            if state != MOVED:
                await self._carry(number)
        await self._sweep(left_behind)
        await self._finish()
        self._step("done")
        return self.report

    async def _begin(self) -> None:
        try:
            await self._followed(FIRST_WITHIN_S)
        except SlowFollowers as error:
            raise MoveRefused(
                f"{error}: they may not reach the target; see their logs, then use --resume or --back"
            ) from error
        await self._places.cut_all_but(self.move.id)
        self._step("begun")

    # One slice

    async def _carry(self, number: int) -> None:
        for _ in range(TRIES):
            await self._listing.prepare(number)
            if await self._try(number):
                return
            self.report.retried += 1
            await asyncio.sleep(PAUSE_S)
        raise MoveRefused(
            f"slice {number} could not be moved within {FROZEN_MOST_S} s in {TRIES} tries: it stays where it "
            "is; try again with --resume when the site is quieter"
        )

    async def _try(self, number: int) -> bool:
        """False: it took too long and was given back."""
        keys: set[Key] = set()
        try:
            async with asyncio.timeout(FROZEN_MOST_S):
                await self._advance({number: FROZEN})
                await self._followed(FROZEN_MOST_S)
                self._step("frozen", number)
                keys = await self._listing.keys(number)
                copied = await self._copier.copy(keys)
                self._step("copied", number)
                await self._advance({number: TURNED})
                await self._followed(FROZEN_MOST_S)
                self._step("turned", number)
        except (TimeoutError, SlowFollowers, StoreUnavailable, Untold):
            await self._give_back(number, keys)
            return False
        except MoveRefused:
            await self._give_back(number, keys)
            raise
        await self._advance({number: MOVED})
        self._step("moved", number)
        await self._places.confirm(self._places.home)  # an older record would have the copies cleared away
        await self._copier.clear_source(copied)
        await self._board.forget_touched([number])
        self._listing.forget(number)
        self.report.slices += 1
        self._step("deleted", number)
        return True

    async def _give_back(self, number: int, keys: Collection[Key]) -> None:
        """Back to the source; readers that had turned over come back before their copy goes."""
        self._record = await self._board.read()
        if self._record.move is None:
            raise MoverReplaced
        await self._advance({number: SOURCE})
        await self._followed(FIRST_WITHIN_S)
        await self._copier.clear_target(keys)
        self._step("given back", number)

    # The ends

    async def _clear_unmoved_target(self) -> None:
        """What an earlier mover copied of slices that did not turn over."""
        targets = {path.target for path in self.move.paths.values()}
        for target in targets:
            components = [name for name, path in self.move.paths.items() if path.target == target]
            for number, keys in (await self._listing.at(target, components)).items():
                if self.move.slices[number] != MOVED:
                    await self._copier.clear_target(keys)

    async def _sweep(self, left_behind: Collection[int]) -> None:
        """What earlier movers had no time to delete goes now; anything else is told of, and left."""
        for source in {path.source for path in self.move.paths.values()}:
            components = [name for name, path in self.move.paths.items() if path.source == source]
            for number, keys in (await self._listing.at(source, components)).items():
                if number in left_behind:
                    await self._copier.clear_source(keys)
                else:
                    self.report.strays += keys
        self._step("swept")

    async def _finish(self) -> None:
        """Every slice has moved: the record says where everything stands."""
        await self._board.forget_touched(range(len(self.move.slices)))
        placed = dict(self._record.placed)
        for name, path in self.move.paths.items():
            placed.pop(name, None)
            if path.target != HERE:
                placed[name] = path.target
        if self.move.home == HERE:
            await self._advance(placed=placed, move=None)
            await self._followed(FIRST_WITHIN_S)
            return
        await self._hand_over(self.move.home, placed)

    async def _hand_over(self, home: str, placed: dict[str, str]) -> None:
        """The map itself goes to the new home; here only the way there is left."""
        there = self._places.board(home)
        lock = Lock(there, self._lock.token)
        await lock.take()
        try:
            held = await there.read()
            placed = {name: url for name, url in placed.items() if url != home}
            epoch = max(held.epoch, self._record.epoch) + 1
            arrived = Placement(epoch, placed, arriving=self._places.home)
            if not await there.advance(arrived, held.epoch, lock.token):
                raise MoverReplaced
            await self._places.confirm(home)
            self._step("handed over")
            await self._advance(placed={}, move=None, forward=home)
            await self._followed(FIRST_WITHIN_S)
            self._step("forwarded")
            if not await there.advance(arrived.after(arriving=""), epoch, lock.token):
                raise MoverReplaced
        finally:
            await lock.release()

    # Steps

    async def _advance(self, states: dict[int, int] | None = None, **changes: object) -> None:
        """Write the next epoch. Raises MoverReplaced where the record is not what we left."""
        if states is not None:
            changes["move"] = self.move.with_states(states)
        following = self._record.after(**changes)
        if not await self._board.advance(following, self._record.epoch, self._lock.token):
            raise MoverReplaced
        self._record = following

    async def _followed(self, within_s: float) -> None:
        """Returns when every process follows the epoch. Raises SlowFollowers."""
        await self._followers.follow(self._record.epoch, within_s)

    def _step(self, name: str, number: int = -1) -> None:
        slices = self._record.move.slices if self._record.move else b""
        self._on_step(Step(name, number, slices.count(MOVED), len(slices)))
