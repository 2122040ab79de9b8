"""Marks: every server stores the id of its site, so that an emptied or exchanged server is noticed.

    map:{site}:stores   HASH on the default topology: the id, the components whose servers have marks, and `restoring`
    map:{m<n>}:site     STRING on every topology: the id. One key on a single server, MARK_COUNT keys elsewhere
    map:{m<n>}:accounts STRING beside it: the highest account id that was given out

The marks of a topology with several servers have many tags, so that each server has some of the marks. The first start
writes them. A migration writes them to its target.
"""

import contextlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from socialsite.concurrency import run_together
from socialsite.store.commands import load_script
from socialsite.store.components import COMPONENTS
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.key_families import INSTALLATION, key_by_id, single_key
from socialsite.store.replies import parse_hash
from socialsite.store.store import Store, Topology
from socialsite.store.topology.standalone import Standalone
from socialsite.store.topology.twemproxy import Twemproxy

MARK_COUNT = 128
"""The number of marks. Each of ten servers behind a proxy has a mark, except in one of 70,000 cases."""
MARKED_COMPONENTS = ("accounts", "posts", "timelines", "public", "follows", "jobs")
"""The components whose data cannot be rebuilt. The other components may be emptied at any time."""
RAISE_NUMBER = load_script("raise_number.lua", __package__)
ID, RESTORING = "id", "restoring"
EMPTIED, MISPLACED, FOREIGN = "emptied", "misplaced", "foreign"


class WrongServer(StoreError):
    """A server lost its data or is another server. The message names the remedy."""


@dataclass(frozen=True, slots=True)
class MarkFault:
    """A fault of the servers of some components. `state` is the state that /readyz reports."""

    components: Sequence[str]
    state: str
    reason: str


stores_key = single_key("map:{site}:stores", "hash",
    "the site's id; component -> 1 if its servers have the id; `restoring` while a restore is unfinished",
    role=INSTALLATION, cap="MARKED_COMPONENTS")  # fmt: skip
mark_key = key_by_id("map:{m<n>}:site", "string",
    "the site's id; one key on a single server, MARK_COUNT on the servers of another topology", role=INSTALLATION,
    cap="MARK_COUNT")  # fmt: skip
account_mark = key_by_id("map:{m<n>}:accounts", "string",
    "beside `site`: the highest account id that was given out, so that a counter that lost its last writes jumps ahead",
    role=INSTALLATION, cap="MARK_COUNT")  # fmt: skip


async def find_mark_faults(store: Store) -> list[MarkFault]:
    """Compare the marks of all servers with the site's record. Servers that do not answer are left out.

    Faults are compared twice: during the first comparison, another process may write the record after it was read, and
    the marks before they are read.
    """
    if is_migrating(store):
        return []
    return await _compare_all_marks(store) and await _compare_all_marks(store)


async def check_and_write_marks(store: Store) -> None:
    """Compare the marks at a start, and write missing marks. Raises WrongServer.

    Servers that do not answer, or refuse writes, get their marks at a later start.
    """
    if is_migrating(store):
        return
    with contextlib.suppress(StoreUnavailable):
        for fault in await find_mark_faults(store):
            raise WrongServer(fault.reason)
        fields = await read_site(store.topology("map"))
        store.site_id = fields.get(ID)
        if not fields.keys() >= {ID, *MARKED_COMPONENTS}:
            await _write_missing_marks(store, fields)


async def record_account_id(store: Store, newest_id: int) -> int:
    """Record on every server that account ids up to this one are used; return the highest id recorded before.

    The record is written before the data of an account. So a server that lost its last writes has the record of every
    account of which it has data. Raises StoreUnavailable.
    """
    if is_migrating(store):
        return 0
    topologies = [topology for topology, components in _components_by_topology(store) if components]
    return max(await run_together(*(_raise_account_id(topology, newest_id) for topology in topologies)))


async def copy_marks(source: Topology, target: Topology, *, with_record: bool) -> None:
    """Write the site id of `source` to the servers of a migration's target. `with_record` also copies the record."""
    fields = await read_site(source)
    if ID in fields:
        await _write_marks(target, fields[ID], replace=True)
        if with_record:
            pairs = [part for pair in fields.items() for part in pair]
            await Store(target).execute_all([("HSET", stores_key(), *pairs)])


async def set_restoring(store: Store, is_restoring: bool) -> None:
    """Record that a restore begins or ends."""
    command = ("HSET", stores_key(), RESTORING, 1) if is_restoring else ("HDEL", stores_key(), RESTORING)
    await store.node(stores_key()).execute(*command)


async def read_site(topology: Topology) -> dict[str, str]:
    return parse_hash(await topology.node_for(stores_key().tag).execute("HGETALL", stores_key()))


def is_migrating(store: Store) -> bool:
    """Return whether a migration is in progress. Marks are not compared during a migration."""
    return store.topology_follower is not None and store.topology_follower.migration_state[1]


async def _compare_all_marks(store: Store) -> list[MarkFault]:
    fields = await read_site(store.topology("map"))
    if RESTORING in fields:
        reason = "a restore into this store did not finish: repeat `manage.py restore FILE --force`"
        return [MarkFault(COMPONENTS, RESTORING, reason)]
    if store.site_id and fields.get(ID) != store.site_id:
        return [_emptied_fault(store.topology("map"), MARKED_COMPONENTS)]
    faults: list[MarkFault] = []
    for topology, components in _components_by_topology(store):
        if faults and ID not in fields:  # the record itself is unavailable
            break
        with contextlib.suppress(StoreUnavailable):
            fault = await _compare_marks(topology, components, fields)
            if fault is not None:
                faults.append(fault)
    return faults


async def _compare_marks(topology: Topology, components: Sequence[str], fields: dict[str, str]) -> MarkFault | None:
    marks = await _read_marks(topology)
    ids = {mark for mark in marks if mark is not None}
    names = _addresses(topology)
    if isinstance(topology, Twemproxy) and None in marks and await _are_behind_proxy(topology, marks):
        reason = (
            f"Twemproxy looks for keys on other servers than before ({names}): put the servers and names of its file "
            "back as they were when the site was first started"
        )
        return MarkFault(components, MISPLACED, reason)
    if ids - {fields.get(ID)}:
        if ID not in fields:
            return _emptied_fault(None, MARKED_COMPONENTS)
        return MarkFault(components, FOREIGN, f"{names} belongs to another site than REDIS_URL: correct the URLs")
    if None in marks and not fields.keys().isdisjoint(components):
        return _emptied_fault(topology, components)
    return None


def _emptied_fault(topology: Topology | None, components: Sequence[str]) -> MarkFault:
    """Describe an emptied topology. If `topology` is None, the record at REDIS_URL is missing."""
    if topology is None:
        reason = "the server of REDIS_URL has lost its data, or is another server: correct the URL or restore the data"
    else:
        names = ", ".join(components)
        reason = (
            f"{_addresses(topology)} has lost its data ({names}), or is another server: correct the URL or restore the "
            f"data; to continue without it, delete these fields of {stores_key()} at REDIS_URL (HDEL)"
        )
    return MarkFault(components, EMPTIED, reason)


async def _are_behind_proxy(topology: Twemproxy, marks: Sequence[str | None]) -> bool:
    """Return whether a server behind the proxy has a mark that the proxy does not find."""
    missing = [("EXISTS", mark_key(number)) for number, mark in enumerate(marks) if mark is None]
    replies = await run_together(*(node.execute_all(missing) for node in topology.nodes))
    return any(any(reply) for reply in replies)


async def _write_missing_marks(store: Store, fields: dict[str, str]) -> None:
    node = store.node(stores_key())
    await node.execute("HSETNX", stores_key(), ID, secrets.token_hex(8))
    site_id = (await node.execute("HGET", stores_key(), ID)).decode()
    store.site_id = site_id
    for topology, components in _components_by_topology(store):
        new = [component for component in components if component not in fields]
        if new:
            await _write_marks(topology, site_id, replace=False)
            await node.execute("HSET", stores_key(), *(part for name in new for part in (name, 1)))


async def _read_marks(topology: Topology) -> list[str | None]:
    replies = await Store(topology).execute_all([("GET", mark_key(n)) for n in range(_mark_count(topology))])
    return [None if reply is None else reply.decode() for reply in replies]


async def _write_marks(topology: Topology, site_id: str, *, replace: bool) -> None:
    condition = () if replace else ("NX",)
    count = _mark_count(topology)
    await Store(topology).execute_all([("SET", mark_key(n), site_id, *condition) for n in range(count)])


async def _raise_account_id(topology: Topology, newest_id: int) -> int:
    keys = map(account_mark, range(_mark_count(topology)))
    replies = await Store(topology).execute_all([RAISE_NUMBER.command([key], [newest_id]) for key in keys])
    return max(map(int, replies))


def _mark_count(topology: Topology) -> int:
    return 1 if isinstance(topology, Standalone) else MARK_COUNT


def _components_by_topology(store: Store) -> list[tuple[Topology, list[str]]]:
    return [
        (topology, [name for name in MARKED_COMPONENTS if store.topology(name) is topology])
        for topology in store.topologies
    ]


def _addresses(topology: Topology) -> str:
    return ", ".join(str(node.address) for node in topology.nodes)
