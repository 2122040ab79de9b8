"""What `manage.py repartition` does: begin a move, go on with one, turn one round, or only look."""

import contextlib
import secrets
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass

from socialsite.migration.connection_gate import Guard
from socialsite.migration.copying import Tally
from socialsite.migration.edge_copying import EdgeCopier
from socialsite.migration.errors import MoveRefused, MoverReplaced
from socialsite.migration.estimate import Survey, survey
from socialsite.migration.followers import Followers
from socialsite.migration.mover import FIRST_WITHIN_S, Mover, Report
from socialsite.migration.placement_registry import Board
from socialsite.migration.planning import begun, find_board, plan
from socialsite.migration.progress import OnStep
from socialsite.migration.record import Move, Path, Placement, Reshape
from socialsite.migration.repartitioning import GRACE_S, Reshaped, Reshaper
from socialsite.migration.store_pool import NAME, Lock, Places
from socialsite.migration.topology_switcher import TopologyOf
from socialsite.store.connections import Layout
from socialsite.store.key import Key

USUAL, OTHER = "p", "q"
"""Letters of partitions: the one everybody knows, and the one beside it."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a site stands as its environment says, and how URLs become topologies."""

    home: str
    placed: Mapping[str, str]
    components: Collection[str]
    topology_of: TopologyOf
    require_replicas: int = 0


async def move(
    site: Site, to: str, component: str | None = None, *, slices: int = 0, on_step: OnStep | None = None
) -> Report:
    """Move one component, or everything, to another store. Raises MoveRefused, StoreError."""
    components = [component] if component else list(site.components)
    async with _at_work(site) as work:
        planned = await plan(
            work.places,
            begun(work.record, site.placed),
            to,
            components,
            whole=component is None,
            slices=slices,
        )
        return await work.carry_out(planned, on_step)


async def look(site: Site, to: str, component: str | None = None) -> Survey:
    """What `move` would do; nothing is changed, and no lock taken."""
    places = Places(site.home, site.topology_of)
    try:
        _, record = await find_board(places)
        components = [component] if component else list(site.components)
        whole = component is None
        planned = await plan(places, begun(record, site.placed), to, components, whole=whole)
        move = _require_move(planned)
        return await survey(places, move.paths, len(move.slices))
    finally:
        await places.close()


async def resume(site: Site, *, on_step: OnStep | None = None) -> Report:
    """Go on where a mover died or gave up."""
    async with _at_work(site) as work:
        if work.record.arriving and work.record.move is None:
            return await work.finish_arrival()
        if _require_move(work.record).reshape is not None:
            raise MoveRefused("follow edges are being cut anew: repeat the same --follow-partitions")
        await work.open_paths()
        return await work.carry_out(work.record, on_step)


async def back(site: Site, *, on_step: OnStep | None = None) -> Report:
    """Bring what has moved back to where it was."""
    async with _at_work(site) as work:
        move = _require_move(work.record)
        if move.reshape is not None:
            raise MoveRefused("follow edges are being cut anew: finish that by the same --follow-partitions")
        turned = work.record.after(move=move.reversed(secrets.token_hex(8)))
        await work.open_paths()
        return await work.carry_out(turned, on_step)


@dataclass(frozen=True, slots=True)
class Edges:
    """What is cut anew: the component, the names of the ends of its edges, and where their number stands."""

    component: str
    sides: dict[str, str]
    recorded: Key


async def reshape(
    site: Site, edges: Edges, count: int, *, grace_s: float = GRACE_S, on_step: OnStep | None = None
) -> Reshaped:
    """Cut edges into `count` partitions; goes on where an earlier run was interrupted. Raises MoveRefused.

    Twice: to partitions of another letter, and from there back to the usual one.
    """
    async with _at_work(site) as work:
        report = Reshaped()
        for _ in range(2):
            record = work.record
            if record.move is None:
                record = await planned_reshape(work.places, begun(record, site.placed), edges, count)
            elif record.move.reshape is None:
                raise MoveRefused(
                    "a move is under way: finish it with --resume, or turn it round with --back"
                )
            report = await work.reshape(record, edges, grace_s, on_step)
            if work.record.layouts[edges.component].letter == USUAL:
                break
        return report


async def look_at_edges(site: Site, edges: Edges, count: int) -> dict[str, int]:
    """How many edges `reshape` would cut anew; nothing is changed, and no lock taken. Raises MoveRefused."""
    places = Places(site.home, site.topology_of)
    try:
        _, record = await find_board(places)
        if record.move is not None:
            raise MoveRefused("a move is under way: it has to be finished first")
        planned = await planned_reshape(places, begun(record, site.placed), edges, count)
        reshape = _require_move(planned).reshape
        assert reshape is not None
        store = places.store(planned.url_of(edges.component))
        return await EdgeCopier(store, reshape, edges.sides).count()
    finally:
        await places.close()


async def planned_reshape(places: Places, record: Placement, edges: Edges, count: int) -> Placement:
    """The record with which the next half of a reshaping begins. Raises MoveRefused."""
    if record.arriving:
        raise MoveRefused("the move that brought the data here is not finished: repeat it with --resume")
    url = record.url_of(edges.component)
    await places.open(url)
    held = await places.store(url).node(edges.recorded).execute("GET", edges.recorded)
    if held is None:
        raise MoveRefused("nothing is there to be cut: the site was never started")
    now = record.layouts.get(edges.component, Layout(USUAL, int(held)))
    if now == Layout(USUAL, count, now.generation):
        raise MoveRefused(f"there are {count} partitions already")
    next_one = Layout(OTHER if now.letter == USUAL else USUAL, count, now.generation + 1)
    reshape = Reshape(edges.component, now, next_one)
    paths = {edges.component: Path(url, url)}
    return record.after(move=Move(secrets.token_hex(8), paths, bytes(1), reshape=reshape))


class _Work:
    """A lock that is held, and what it protects."""

    def __init__(self, places: Places, board: Board, lock: Lock, record: Placement) -> None:
        self.places = places
        self.record = record
        self._board = board
        self._lock = lock

    async def open_paths(self) -> None:
        move = self.record.move
        for path in move.paths.values() if move else ():
            await self.places.open(path.source)
            await self.places.open(path.target)

    async def carry_out(self, record: Placement, on_step: OnStep | None) -> Report:
        if record is not self.record and not await self._board.advance(
            record, self.record.epoch, self._lock.token
        ):
            raise MoverReplaced
        self.record = record
        mover = Mover(self._board, self.places, self._lock, record, on_step)
        return await mover.run()

    async def reshape(
        self, record: Placement, edges: Edges, grace_s: float, on_step: OnStep | None
    ) -> Reshaped:
        if record is not self.record and not await self._board.advance(
            record, self.record.epoch, self._lock.token
        ):
            raise MoverReplaced
        self.record = record
        await self.open_paths()
        reshaper = Reshaper(
            self._board, self.places, self._lock, record, edges.sides, edges.recorded, on_step
        )
        await self.places.cut_other_movers()
        await reshaper.run(grace_s)
        self.record = reshaper.record
        return reshaper.report

    async def finish_arrival(self) -> Report:
        """Everything is here, only not everybody was told yet at the store where it came from."""
        await self.places.open(self.record.arriving)
        origin = self.places.board(self.record.arriving)
        left = await origin.read()
        await Followers(origin, self.places).follow(left.epoch, FIRST_WITHIN_S)
        if not await self._board.advance(self.record.after(arriving=""), self.record.epoch, self._lock.token):
            raise MoverReplaced
        return Report(Tally())


@contextlib.asynccontextmanager
async def _at_work(site: Site) -> AsyncIterator[_Work]:
    """Hold the lock of the board that counts. Raises MoveRefused where another mover does."""
    looking = Places(site.home, site.topology_of)
    token = secrets.token_hex(8)
    try:
        board, _ = await find_board(looking)
        lock = Lock(board, token)
        await lock.take()
        guard = Guard(f"{NAME}{token}", lock.require)
        places = Places(looking.home, site.topology_of, guard, replicas=site.require_replicas)
        try:
            await places.open("")
            own = places.board("")
            yield _Work(places, own, lock, await own.read())
        finally:
            await lock.release()
            await places.close()
    finally:
        await looking.close()


def _require_move(record: Placement) -> Move:
    if record.move is None:
        raise MoveRefused("no move is under way: name a store by --to")
    return record.move
