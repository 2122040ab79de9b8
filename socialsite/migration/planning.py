"""From what an operator asks for to a record that a mover can carry out; or a refusal, nothing changed."""

import secrets
from collections.abc import Collection, Mapping

from socialsite.migration.errors import MoveRefused
from socialsite.migration.key_inventory import scanned
from socialsite.migration.placement_registry import Board
from socialsite.migration.record import HERE, SLOTS, Move, Path, Placement
from socialsite.migration.store_pool import Places, identity_of
from socialsite.store.errors import CommandRefused
from socialsite.store.key import Key
from socialsite.store.store import Topology
from socialsite.store.topology.cluster import Cluster
from socialsite.store.topology.standalone import Single
from socialsite.store.topology.twemproxy import Proxy

FEWEST_SLICES = 64
KEYS_PER_SLICE = 1_000
"""Copied and compared within about 100 ms."""
MOST_FORWARDS = 8


async def find_board(places: Places) -> tuple[Board, Placement]:
    """The board that counts, from the store the environment names; `places.home` becomes its URL."""
    for _ in range(MOST_FORWARDS):
        topology = await places.open(HERE)
        if isinstance(topology, Proxy):
            raise MoveRefused("what stands behind Twemproxy cannot be moved while the site serves")
        board = Board(topology)
        record = await board.read()
        if not record.forward:
            return board, record
        places.home = record.forward
    raise MoveRefused("the maps of the stores send each other in a circle: restore one from a backup")


def begun(record: Placement, placed: Mapping[str, str]) -> Placement:
    """The record, or, where there was none yet, what the environment says."""
    return record if record.epoch else Placement(0, dict(placed))


async def plan(
    places: Places, record: Placement, to: str, components: Collection[str], *, whole: bool, slices: int = 0
) -> Placement:
    """The record with which a move begins. Raises MoveRefused."""
    if record.move is not None:
        raise MoveRefused("a move is under way: finish it with --resume, or turn it round with --back")
    if record.arriving:
        raise MoveRefused("the move that brought the data here is not finished: repeat it with --resume")
    target = await places.open(to)
    if isinstance(target, Proxy):
        raise MoveRefused("what stands behind Twemproxy cannot be moved while the site serves")
    if await identity_of(target) == await identity_of(places.topology(HERE)):
        to = HERE
    paths = {}
    for name in components:
        source = await places.open(record.url_of(name))
        if await identity_of(source) == await identity_of(places.topology(to)):
            continue
        _require_simple_end(source, target)
        paths[name] = Path(record.url_of(name), to)
    if not paths:
        raise MoveRefused("it stands there already: nothing is to be moved")
    await _require_empty(target, paths)
    await _require_readable(places, paths)
    count = slices or await slices_for(places, paths)
    tracked = any(not isinstance(places.topology(path.source), Cluster) for path in paths.values())
    home = to if whole and to != HERE else HERE
    return record.after(move=Move(secrets.token_hex(8), paths, bytes(count), home, tracked))


async def slices_for(places: Places, paths: Mapping[str, Path]) -> int:
    """So many that each is copied in a moment: a power of two."""
    nodes = {node for path in paths.values() for node in places.topology(path.source).nodes}
    keys = sum([int(await node.execute("DBSIZE")) for node in nodes])
    count = FEWEST_SLICES
    while count < SLOTS and count * KEYS_PER_SLICE < keys:
        count *= 2
    return count


def _require_simple_end(source: Topology, target: Topology) -> None:
    if isinstance(source, Proxy):
        raise MoveRefused("what stands behind Twemproxy cannot be moved while the site serves")
    if not any(isinstance(place, (Single, Cluster)) for place in (source, target)):
        raise MoveRefused("one of the two stores has to be a single server or a cluster: move there first")


async def _require_empty(target: Topology, components: Collection[str]) -> None:
    for node in target.nodes:
        async for key in scanned(node):
            if key.component in components:
                raise MoveRefused(
                    f"the target holds data of the {key.component} already ({key}): empty it, or name another"
                )


async def _require_readable(places: Places, paths: Mapping[str, Path]) -> None:
    """A server reads what its own or an older version wrote."""
    probe = Key("map", tag="placement", name="probe")
    for source, target in {(path.source, path.target) for path in paths.values()}:
        at_source, at_target = places.store(source), places.store(target)
        await at_source.node(probe).execute("SET", probe, 1, "PX", 10_000)
        payload = await at_source.node(probe).execute("DUMP", probe)
        try:
            await at_target.node(probe).execute("RESTORE", probe, 10_000, payload, "REPLACE")
        except CommandRefused as error:
            raise MoveRefused(
                f"the target's version is older than the source's ({error}): upgrade it to the same one"
            ) from error
