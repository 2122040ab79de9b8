"""What `manage.py repartition` does: begin a move, go on with one, turn one round, or only look."""

import contextlib
import secrets
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass

from socialsite.migration.connection_gate import ConnectionGate
from socialsite.migration.copying import CopyStatistics
from socialsite.migration.edge_copying import EdgeCopier
from socialsite.migration.errors import MigrationRefused, MigratorReplaced
from socialsite.migration.estimate import Estimate, compute_estimate
from socialsite.migration.followers import ProcessBarrier
from socialsite.migration.mover import FOLLOW_TIMEOUT_S, MigrationReport, Migrator
from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.migration.planning import find_registry, map_or_default, plan_migration
from socialsite.migration.progress import OnProgress
from socialsite.migration.record import Migration, MigrationRoute, PlacementMap, Repartition
from socialsite.migration.repartitioning import OLD_PARTITIONS_GRACE_S, Repartitioner, RepartitionReport
from socialsite.migration.store_pool import MIGRATOR_NAME_PREFIX, MigrationLock, StorePool
from socialsite.migration.topology_switcher import TopologyFactory
from socialsite.store.key import Key
from socialsite.store.pair_partitions import PartitionLayout

DEFAULT_PREFIX, ALTERNATE_PREFIX = "p", "q"
"""Letters of partitions: the one everybody knows, and the one beside it."""


@dataclass(frozen=True, slots=True)
class MigrationSite:
    """Where a site stands as its environment says, and how URLs become topologies."""

    home_url: str
    component_urls: Mapping[str, str]
    components: Collection[str]
    create_topology: TopologyFactory
    require_replicas: int = 0


async def migrate(
    site: MigrationSite,
    to: str,
    component: str | None = None,
    *,
    slices: int = 0,
    on_progress: OnProgress | None = None,
) -> MigrationReport:
    """Move one component, or everything, to another store. Raises MigrationRefused, StoreError."""
    components = [component] if component else list(site.components)
    async with _open_session(site) as work:
        planned = await plan_migration(
            work.stores,
            map_or_default(work.placement_map, site.component_urls),
            to,
            components,
            is_whole_store=component is None,
            slice_count=slices,
        )
        return await work.run_migration(planned, on_progress)


async def estimate_migration(site: MigrationSite, to: str, component: str | None = None) -> Estimate:
    """What `move` would do; nothing is changed, and no lock taken."""
    places = StorePool(site.home_url, site.create_topology)
    try:
        _, record = await find_registry(places)
        components = [component] if component else list(site.components)
        whole = component is None
        planned = await plan_migration(
            places, map_or_default(record, site.component_urls), to, components, is_whole_store=whole
        )
        move = _require_migration(planned)
        return await compute_estimate(places, move.paths, len(move.slices))
    finally:
        await places.close()


async def resume_migration(site: MigrationSite, *, on_progress: OnProgress | None = None) -> MigrationReport:
    """Go on where a mover died or gave up."""
    async with _open_session(site) as work:
        if work.placement_map.arriving and work.placement_map.move is None:
            return await work.finish_handover()
        if _require_migration(work.placement_map).reshape is not None:
            raise MigrationRefused("follow edges are being cut anew: repeat the same --follow-partitions")
        await work.open_routes()
        return await work.run_migration(work.placement_map, on_progress)


async def revert_migration(site: MigrationSite, *, on_progress: OnProgress | None = None) -> MigrationReport:
    """Bring what has moved back to where it was."""
    async with _open_session(site) as work:
        move = _require_migration(work.placement_map)
        if move.reshape is not None:
            raise MigrationRefused("follow edges are being cut anew: finish that by the same --follow-partitions")
        turned = work.placement_map.next_epoch(move=move.reversed(secrets.token_hex(8)))
        await work.open_routes()
        return await work.run_migration(turned, on_progress)


@dataclass(frozen=True, slots=True)
class EdgeFamily:
    """What is cut anew: the component, the names of the ends of its edges, and where their number stands."""

    component: str
    reverse_names: dict[str, str]
    count_key: Key


async def repartition_edges(
    site: MigrationSite,
    edges: EdgeFamily,
    count: int,
    *,
    grace_s: float = OLD_PARTITIONS_GRACE_S,
    on_progress: OnProgress | None = None,
) -> RepartitionReport:
    """Cut edges into `count` partitions; goes on where an earlier run was interrupted. Raises MigrationRefused.

    Twice: to partitions of another letter, and from there back to the usual one.
    """
    async with _open_session(site) as work:
        report = RepartitionReport()
        for _ in range(2):
            record = work.placement_map
            if record.move is None:
                record = await plan_repartition(work.stores, map_or_default(record, site.component_urls), edges, count)
            elif record.move.reshape is None:
                raise MigrationRefused("a move is under way: finish it with --resume, or turn it round with --back")
            report = await work.run_repartition(record, edges, grace_s, on_progress)
            if work.placement_map.layouts[edges.component].prefix == DEFAULT_PREFIX:
                break
        return report


async def count_edges(site: MigrationSite, edges: EdgeFamily, count: int) -> dict[str, int]:
    """How many edges `reshape` would cut anew; nothing is changed, and no lock taken. Raises MigrationRefused."""
    places = StorePool(site.home_url, site.create_topology)
    try:
        _, record = await find_registry(places)
        if record.move is not None:
            raise MigrationRefused("a move is under way: it has to be finished first")
        planned = await plan_repartition(places, map_or_default(record, site.component_urls), edges, count)
        reshape = _require_migration(planned).reshape
        assert reshape is not None
        store = places.store(planned.url_of(edges.component))
        return await EdgeCopier(store, reshape, edges.reverse_names).count()
    finally:
        await places.close()


async def plan_repartition(places: StorePool, record: PlacementMap, edges: EdgeFamily, count: int) -> PlacementMap:
    """The record with which the next half of a reshaping begins. Raises MigrationRefused."""
    if record.arriving:
        raise MigrationRefused("the move that brought the data here is not finished: repeat it with --resume")
    url = record.url_of(edges.component)
    await places.open(url)
    held = await places.store(url).node(edges.count_key).execute("GET", edges.count_key)
    if held is None:
        raise MigrationRefused("nothing is there to be cut: the site was never started")
    now = record.layouts.get(edges.component, PartitionLayout(DEFAULT_PREFIX, int(held)))
    if now == PartitionLayout(DEFAULT_PREFIX, count, now.version):
        raise MigrationRefused(f"there are {count} partitions already")
    next_one = PartitionLayout(
        ALTERNATE_PREFIX if now.prefix == DEFAULT_PREFIX else DEFAULT_PREFIX, count, now.version + 1
    )
    reshape = Repartition(edges.component, now, next_one)
    paths = {edges.component: MigrationRoute(url, url)}
    return record.next_epoch(move=Migration(secrets.token_hex(8), paths, bytes(1), reshape=reshape))


class _MigrationSession:
    """A lock that is held, and what it protects."""

    def __init__(self, places: StorePool, board: PlacementRegistry, lock: MigrationLock, record: PlacementMap) -> None:
        self.stores = places
        self.placement_map = record
        self._registry = board
        self._lock = lock

    async def open_routes(self) -> None:
        move = self.placement_map.move
        for path in move.paths.values() if move else ():
            await self.stores.open(path.source)
            await self.stores.open(path.target)

    async def run_migration(self, record: PlacementMap, on_step: OnProgress | None) -> MigrationReport:
        if record is not self.placement_map and not await self._registry.advance_epoch(
            record, self.placement_map.epoch, self._lock.token
        ):
            raise MigratorReplaced
        self.placement_map = record
        mover = Migrator(self._registry, self.stores, self._lock, record, on_step)
        return await mover.run()

    async def run_repartition(
        self, record: PlacementMap, edges: EdgeFamily, grace_s: float, on_step: OnProgress | None
    ) -> RepartitionReport:
        if record is not self.placement_map and not await self._registry.advance_epoch(
            record, self.placement_map.epoch, self._lock.token
        ):
            raise MigratorReplaced
        self.placement_map = record
        await self.open_routes()
        reshaper = Repartitioner(
            self._registry, self.stores, self._lock, record, edges.reverse_names, edges.count_key, on_step
        )
        await self.stores.kill_other_migrators()
        await reshaper.run(grace_s)
        self.placement_map = reshaper.placement_map
        return reshaper.report

    async def finish_handover(self) -> MigrationReport:
        """Everything is here, only not everybody was told yet at the store where it came from."""
        await self.stores.open(self.placement_map.arriving)
        origin = self.stores.registry(self.placement_map.arriving)
        left = await origin.read_map()
        await ProcessBarrier(origin, self.stores).wait_for_epoch(left.epoch, FOLLOW_TIMEOUT_S)
        if not await self._registry.advance_epoch(
            self.placement_map.next_epoch(arriving=""), self.placement_map.epoch, self._lock.token
        ):
            raise MigratorReplaced
        return MigrationReport(CopyStatistics())


@contextlib.asynccontextmanager
async def _open_session(site: MigrationSite) -> AsyncIterator[_MigrationSession]:
    """Hold the lock of the board that counts. Raises MigrationRefused where another mover does."""
    looking = StorePool(site.home_url, site.create_topology)
    token = secrets.token_hex(8)
    try:
        board, _ = await find_registry(looking)
        lock = MigrationLock(board, token)
        await lock.acquire()
        guard = ConnectionGate(f"{MIGRATOR_NAME_PREFIX}{token}", lock.require_held)
        places = StorePool(looking.home_url, site.create_topology, guard, replicas=site.require_replicas)
        try:
            await places.open("")
            own = places.registry("")
            yield _MigrationSession(places, own, lock, await own.read_map())
        finally:
            await lock.release()
            await places.close()
    finally:
        await looking.close()


def _require_migration(record: PlacementMap) -> Migration:
    if record.move is None:
        raise MigrationRefused("no move is under way: name a store by --to")
    return record.move
