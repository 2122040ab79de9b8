"""The operations of `manage.py repartition`: start, estimate, resume or revert a migration, and repartition edges."""

import contextlib
import secrets
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass

from socialsite.migration.connection_gate import ConnectionGate
from socialsite.migration.edge_copier import EdgeCopier
from socialsite.migration.errors import MigrationRefused, RepartitionUnfinished
from socialsite.migration.estimate import Estimate, compute_estimate
from socialsite.migration.migration_lock import MigrationLock
from socialsite.migration.migration_plan import find_registry, map_or_default, plan_migration
from socialsite.migration.migration_session import MigrationSession
from socialsite.migration.migrator import FOLLOW_TIMEOUT_S, Migrator
from socialsite.migration.placement_map import Migration, MigrationRoute, PlacementMap, Repartition
from socialsite.migration.process_barrier import ProcessBarrier
from socialsite.migration.progress import MigrationReport, OnProgress, RepartitionReport
from socialsite.migration.repartitioner import OLD_PARTITIONS_GRACE_S, EdgeFamily, Repartitioner
from socialsite.migration.store_pool import MIGRATOR_NAME_PREFIX, StorePool
from socialsite.migration.topology_switcher import TopologyFactory
from socialsite.store.pair_partitions import PartitionLayout

DEFAULT_PREFIX, ALTERNATE_PREFIX = "p", "q"
"""The usual prefix of partition tags, and the prefix that is used during a repartition."""


@dataclass(frozen=True, slots=True)
class MigrationSite:
    """The site's configuration: the store's URL, the URLs of components in other stores, and all component names."""

    home_url: str
    component_urls: Mapping[str, str]
    components: Collection[str]
    create_topology: TopologyFactory
    require_replicas: int = 0


async def migrate(
    site: MigrationSite,
    target_url: str,
    component: str | None = None,
    *,
    slices: int = 0,
    on_progress: OnProgress | None = None,
) -> MigrationReport:
    """Migrate one component, or all of them, to another store. Raises MigrationRefused, StoreError."""
    async with _open_session(site) as session:
        planned = await plan_migration(
            session.stores,
            map_or_default(session.placement_map, site.component_urls),
            target_url,
            [component] if component else site.components,
            is_whole_store=component is None,
            slice_count=slices,
        )
        await session.write_map(planned)
        return await Migrator(session, on_progress).run()


async def estimate_migration(site: MigrationSite, target_url: str, component: str | None = None) -> Estimate:
    """Estimate the work of `migrate`. Nothing is changed, and no lock is acquired."""
    stores = StorePool(site.home_url, site.create_topology)
    try:
        _, placement_map = await find_registry(stores)
        planned = await plan_migration(
            stores,
            map_or_default(placement_map, site.component_urls),
            target_url,
            [component] if component else site.components,
            is_whole_store=component is None,
        )
        migration = _require_migration(planned)
        return await compute_estimate(stores, migration.routes, len(migration.slice_states))
    finally:
        await stores.close()


async def resume_migration(site: MigrationSite, *, on_progress: OnProgress | None = None) -> MigrationReport:
    """Continue a migration after its migrator died or gave up. Raises MigrationRefused, StoreError."""
    async with _open_session(site) as session:
        if session.placement_map.arriving_from and session.placement_map.migration is None:
            return await _finish_handover(session)
        if _require_migration(session.placement_map).repartition is not None:
            raise RepartitionUnfinished
        await session.open_routes()
        return await Migrator(session, on_progress).run()


async def revert_migration(site: MigrationSite, *, on_progress: OnProgress | None = None) -> MigrationReport:
    """Move the completed slices of an unfinished migration back. Raises MigrationRefused, StoreError."""
    async with _open_session(site) as session:
        migration = _require_migration(session.placement_map)
        if migration.repartition is not None:
            raise RepartitionUnfinished
        await session.open_routes()
        await session.write_epoch(migration=migration.reversed(secrets.token_hex(8)))
        return await Migrator(session, on_progress).run()


async def repartition_edges(
    site: MigrationSite,
    edges: EdgeFamily,
    count: int,
    *,
    grace_s: float = OLD_PARTITIONS_GRACE_S,
    on_progress: OnProgress | None = None,
) -> RepartitionReport:
    """Repartition edges into `count` partitions; continue an interrupted run. Raises MigrationRefused.

    The edges are copied twice: to partitions with the alternate prefix, then to partitions with the usual prefix.
    """
    async with _open_session(site) as session:
        report = RepartitionReport()
        for _ in range(2):
            migration = session.placement_map.migration
            if migration is None:
                configured = map_or_default(session.placement_map, site.component_urls)
                await session.write_map(await plan_repartition(session.stores, configured, edges, count))
            elif migration.repartition is None:
                raise MigrationRefused("a move is in progress: finish it with --resume, or revert it with --back")
            await session.open_routes()
            report = await Repartitioner(session, edges, on_progress).run(grace_s)
            if session.placement_map.partition_layouts[edges.component].prefix == DEFAULT_PREFIX:
                break
        return report


async def count_edges(site: MigrationSite, edges: EdgeFamily, count: int) -> dict[str, int]:
    """Count the edges of each outgoing side that `repartition_edges` would copy. Raises MigrationRefused.

    Nothing is changed, and no lock is acquired.
    """
    stores = StorePool(site.home_url, site.create_topology)
    try:
        _, placement_map = await find_registry(stores)
        if placement_map.migration is not None:
            raise MigrationRefused("a move is in progress: finish it first")
        planned = await plan_repartition(stores, map_or_default(placement_map, site.component_urls), edges, count)
        repartition = _require_migration(planned).repartition
        assert repartition is not None
        return await EdgeCopier(stores.store(planned.url_of(edges.component)), repartition, edges.reverse_names).count()
    finally:
        await stores.close()


async def plan_repartition(
    stores: StorePool, placement_map: PlacementMap, edges: EdgeFamily, count: int
) -> PlacementMap:
    """Return the map with which the next copy of a repartition starts. Raises MigrationRefused."""
    if placement_map.arriving_from:
        raise MigrationRefused("the move of the data to this store is not finished: repeat it with --resume")
    url = placement_map.url_of(edges.component)
    await stores.open(url)
    stored_count = await stores.store(url).node(edges.count_key).execute("GET", edges.count_key)
    if stored_count is None:
        raise MigrationRefused("there are no partitions to change: the site was never started")
    source = placement_map.partition_layouts.get(edges.component, PartitionLayout(DEFAULT_PREFIX, int(stored_count)))
    if source == PartitionLayout(DEFAULT_PREFIX, count, source.version):
        raise MigrationRefused(f"there are {count} partitions already")
    prefix = ALTERNATE_PREFIX if source.prefix == DEFAULT_PREFIX else DEFAULT_PREFIX
    repartition = Repartition(edges.component, source, PartitionLayout(prefix, count, source.version + 1))
    routes = {edges.component: MigrationRoute(url, url)}
    return placement_map.next_epoch(
        migration=Migration(secrets.token_hex(8), routes, bytes(1), repartition=repartition)
    )


async def _finish_handover(session: MigrationSession) -> MigrationReport:
    """Finish a migration after the map was moved: wait until all processes of the old store follow the new map."""
    await session.stores.open(session.placement_map.arriving_from)
    old_registry = session.stores.registry(session.placement_map.arriving_from)
    old_map = await old_registry.read_map()
    await ProcessBarrier(old_registry, session.stores).wait_for_epoch(old_map.epoch, FOLLOW_TIMEOUT_S)
    await session.write_epoch(arriving_from="")
    return MigrationReport()


@contextlib.asynccontextmanager
async def _open_session(site: MigrationSite) -> AsyncIterator[MigrationSession]:
    """Acquire the migrator's lock in the current registry. Raises MigrationRefused if another migrator is alive."""
    ungated = StorePool(site.home_url, site.create_topology)
    token = secrets.token_hex(8)
    try:
        registry, _ = await find_registry(ungated)
        lock = MigrationLock(registry, token)
        await lock.acquire()
        gate = ConnectionGate(f"{MIGRATOR_NAME_PREFIX}{token}", lock.require_held)
        stores = StorePool(ungated.home_url, site.create_topology, gate, required_replicas=site.require_replicas)
        try:
            await stores.open("")
            gated_registry = stores.registry("")
            yield MigrationSession(stores, gated_registry, lock, await gated_registry.read_map())
        finally:
            await lock.release()
            await stores.close()
    finally:
        await ungated.close()


def _require_migration(placement_map: PlacementMap) -> Migration:
    if placement_map.migration is None:
        raise MigrationRefused("no move is in progress: name a store by --to")
    return placement_map.migration
