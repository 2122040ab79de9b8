"""Plan a migration: convert the operator's request to a placement map for the migrator, or refuse the request."""

import secrets
from collections.abc import Collection, Mapping

from socialsite.migration.errors import MigrationRefused
from socialsite.migration.key_inventory import scan_keys
from socialsite.migration.placement_map import (
    SLOT_COUNT,
    THIS_STORE,
    Migration,
    MigrationRoute,
    PlacementMap,
    dump_probe,
)
from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.migration.store_pool import StorePool, read_server_ids
from socialsite.store.errors import CommandRefused
from socialsite.store.store import Topology
from socialsite.store.topology.cluster import Cluster
from socialsite.store.topology.shard_map import require_no_shard
from socialsite.store.topology.standalone import Standalone
from socialsite.store.topology.twemproxy import Twemproxy

MIN_SLICES = 64
KEYS_PER_SLICE = 1_000
"""The approximate number of keys of a slice. They are copied and compared within about 100 ms."""
MAX_FORWARDS = 8


async def find_registry(stores: StorePool) -> tuple[PlacementRegistry, PlacementMap]:
    """Follow forwarded maps from the configured store; set `stores.home_url` to the URL of the last store.

    Returns the registry and the map of the last store. Raises MigrationRefused.
    """
    for _ in range(MAX_FORWARDS):
        topology = await stores.open(THIS_STORE)
        if isinstance(topology, Twemproxy):
            raise MigrationRefused("data behind Twemproxy cannot be moved while the site serves")
        registry = PlacementRegistry(topology)
        placement_map = await registry.read_map()
        if not placement_map.forwarded_to:
            return registry, placement_map
        stores.home_url = placement_map.forwarded_to
    raise MigrationRefused("the maps of the stores refer to each other in a circle: restore one from a backup")


def map_or_default(placement_map: PlacementMap, component_urls: Mapping[str, str]) -> PlacementMap:
    """Return the map, or a map of the configured URLs if no map was stored yet."""
    return placement_map if placement_map.epoch else PlacementMap(0, dict(component_urls))


async def plan_migration(
    stores: StorePool,
    placement_map: PlacementMap,
    target_url: str,
    components: Collection[str],
    *,
    is_whole_store: bool,
    slice_count: int = 0,
) -> PlacementMap:
    """Return the map with which a migration of components starts. Raises MigrationRefused."""
    if placement_map.migration is not None:
        raise MigrationRefused("a move is in progress: finish it with --resume, or revert it with --back")
    if placement_map.arriving_from:
        raise MigrationRefused("the move of the data to this store is not finished: repeat it with --resume")
    target = await stores.open(target_url)
    if isinstance(target, Twemproxy):
        raise MigrationRefused("data behind Twemproxy cannot be moved while the site serves")
    if isinstance(target, Standalone):
        await require_no_shard(target.nodes[0])
    if await read_server_ids(target) == await read_server_ids(stores.topology(THIS_STORE)):
        target_url = THIS_STORE
    routes = {}
    for name in components:
        source_url = placement_map.url_of(name)
        source = await stores.open(source_url)
        if await read_server_ids(source) == await read_server_ids(stores.topology(target_url)):
            continue
        _require_simple_end(source, target)
        routes[name] = MigrationRoute(source_url, target_url)
    if not routes:
        raise MigrationRefused("it is there already: nothing to move")
    await _require_empty(target, routes)
    await _require_readable(stores, routes)
    count = slice_count or await choose_slice_count(stores, routes)
    migration = Migration(
        secrets.token_hex(8),
        routes,
        bytes(count),
        new_home_url=target_url if is_whole_store else THIS_STORE,
        track_writes=any(not isinstance(stores.topology(route.source), Cluster) for route in routes.values()),
    )
    return placement_map.next_epoch(migration=migration)


async def choose_slice_count(stores: StorePool, routes: Mapping[str, MigrationRoute]) -> int:
    """Return a power of two with which a slice has at most about KEYS_PER_SLICE keys."""
    nodes = {node for route in routes.values() for node in stores.topology(route.source).nodes}
    keys = sum([int(await node.execute("DBSIZE")) for node in nodes])
    count = MIN_SLICES
    while count < SLOT_COUNT and count * KEYS_PER_SLICE < keys:
        count *= 2
    return count


def _require_simple_end(source: Topology, target: Topology) -> None:
    """Raise MigrationRefused unless the source or the target is a single server or a cluster."""
    if isinstance(source, Twemproxy):
        raise MigrationRefused("data behind Twemproxy cannot be moved while the site serves")
    if not any(isinstance(topology, (Standalone, Cluster)) for topology in (source, target)):
        raise MigrationRefused("one of the two stores has to be a single server or a cluster: move there first")


async def _require_empty(target: Topology, components: Collection[str]) -> None:
    for node in target.nodes:
        async for key in scan_keys(node):
            if key.component in components:
                raise MigrationRefused(
                    f"the target holds data of the {key.component} already ({key}): empty it, or name another"
                )


async def _require_readable(stores: StorePool, routes: Mapping[str, MigrationRoute]) -> None:
    """Raise MigrationRefused if the target cannot read the source's DUMP, because the target's version is older."""
    probe = dump_probe()
    for source, target in {(route.source, route.target) for route in routes.values()}:
        source_node, target_node = stores.store(source).node(probe), stores.store(target).node(probe)
        await source_node.execute("SET", probe, 1, "PX", 10_000)
        dump = await source_node.execute("DUMP", probe)
        try:
            await target_node.execute("RESTORE", probe, 10_000, dump, "REPLACE")
        except CommandRefused as error:
            raise MigrationRefused(
                f"the target's version is older than the source's ({error}): upgrade it to the same one"
            ) from error
