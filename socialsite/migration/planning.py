"""From what an operator asks for to a record that a mover can carry out; or a refusal, nothing changed."""

import secrets
from collections.abc import Collection, Mapping

from socialsite.migration.errors import MigrationRefused
from socialsite.migration.key_inventory import scan_keys
from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.migration.record import SLOT_COUNT, THIS_STORE, Migration, MigrationRoute, PlacementMap
from socialsite.migration.store_pool import StorePool, read_server_ids
from socialsite.store.errors import CommandRefused
from socialsite.store.key import Key
from socialsite.store.store import Topology
from socialsite.store.topology.cluster import Cluster
from socialsite.store.topology.standalone import Standalone
from socialsite.store.topology.twemproxy import Twemproxy

MIN_SLICES = 64
KEYS_PER_SLICE = 1_000
"""Copied and compared within about 100 ms."""
MAX_FORWARDS = 8


async def find_registry(places: StorePool) -> tuple[PlacementRegistry, PlacementMap]:
    """The board that counts, from the store the environment names; `places.home` becomes its URL."""
    for _ in range(MAX_FORWARDS):
        topology = await places.open(THIS_STORE)
        if isinstance(topology, Twemproxy):
            raise MigrationRefused("what stands behind Twemproxy cannot be moved while the site serves")
        board = PlacementRegistry(topology)
        record = await board.read_map()
        if not record.forward:
            return board, record
        places.home_url = record.forward
    raise MigrationRefused("the maps of the stores send each other in a circle: restore one from a backup")


def map_or_default(record: PlacementMap, placed: Mapping[str, str]) -> PlacementMap:
    """The record, or, where there was none yet, what the environment says."""
    return record if record.epoch else PlacementMap(0, dict(placed))


async def plan_migration(
    places: StorePool,
    record: PlacementMap,
    to: str,
    components: Collection[str],
    *,
    is_whole_store: bool,
    slice_count: int = 0,
) -> PlacementMap:
    """The record with which a move begins. Raises MigrationRefused."""
    if record.move is not None:
        raise MigrationRefused("a move is under way: finish it with --resume, or turn it round with --back")
    if record.arriving:
        raise MigrationRefused("the move that brought the data here is not finished: repeat it with --resume")
    target = await places.open(to)
    if isinstance(target, Twemproxy):
        raise MigrationRefused("what stands behind Twemproxy cannot be moved while the site serves")
    if await read_server_ids(target) == await read_server_ids(places.topology(THIS_STORE)):
        to = THIS_STORE
    paths = {}
    for name in components:
        source = await places.open(record.url_of(name))
        if await read_server_ids(source) == await read_server_ids(places.topology(to)):
            continue
        _require_simple_end(source, target)
        paths[name] = MigrationRoute(record.url_of(name), to)
    if not paths:
        raise MigrationRefused("it stands there already: nothing is to be moved")
    await _require_empty(target, paths)
    await _require_readable(places, paths)
    count = slice_count or await choose_slice_count(places, paths)
    tracked = any(not isinstance(places.topology(path.source), Cluster) for path in paths.values())
    home = to if is_whole_store and to != THIS_STORE else THIS_STORE
    return record.next_epoch(move=Migration(secrets.token_hex(8), paths, bytes(count), home, tracked))


async def choose_slice_count(places: StorePool, paths: Mapping[str, MigrationRoute]) -> int:
    """So many that each is copied in a moment: a power of two."""
    nodes = {node for path in paths.values() for node in places.topology(path.source).nodes}
    keys = sum([int(await node.execute("DBSIZE")) for node in nodes])
    count = MIN_SLICES
    while count < SLOT_COUNT and count * KEYS_PER_SLICE < keys:
        count *= 2
    return count


def _require_simple_end(source: Topology, target: Topology) -> None:
    if isinstance(source, Twemproxy):
        raise MigrationRefused("what stands behind Twemproxy cannot be moved while the site serves")
    if not any(isinstance(place, (Standalone, Cluster)) for place in (source, target)):
        raise MigrationRefused("one of the two stores has to be a single server or a cluster: move there first")


async def _require_empty(target: Topology, components: Collection[str]) -> None:
    for node in target.nodes:
        async for key in scan_keys(node):
            if key.component in components:
                raise MigrationRefused(
                    f"the target holds data of the {key.component} already ({key}): empty it, or name another"
                )


async def _require_readable(places: StorePool, paths: Mapping[str, MigrationRoute]) -> None:
    """A server reads what its own or an older version wrote."""
    probe = Key("map", tag="placement", name="probe")
    for source, target in {(path.source, path.target) for path in paths.values()}:
        at_source, at_target = places.store(source), places.store(target)
        await at_source.node(probe).execute("SET", probe, 1, "PX", 10_000)
        payload = await at_source.node(probe).execute("DUMP", probe)
        try:
            await at_target.node(probe).execute("RESTORE", probe, 10_000, payload, "REPLACE")
        except CommandRefused as error:
            raise MigrationRefused(
                f"the target's version is older than the source's ({error}): upgrade it to the same one"
            ) from error
