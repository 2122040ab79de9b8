"""The same site on three topologies: one server, four shards and a cluster of three masters."""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.full_homes import old_ids
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import Command, Key
from socialsite.store.factory import StoreUrls
from tests.support.ports import free_ports
from tests.support.redis_server import RedisServer
from tests.support.topologies import Deployment, clients_of, cluster, running_servers
from timelines import keys

BATCH = 500
SHARDS = 4


@dataclass(frozen=True, slots=True)
class Place:
    """A site on one topology."""

    services: Services
    deployment: Deployment


Standing = dict[str, Place]


@contextlib.contextmanager
def servers_on_ports(count: int) -> Iterator[tuple[list[RedisServer], str]]:
    """Run servers over TCP, like those of a cluster: a client's costs on a unix socket are different."""
    ports = free_ports(count)
    reached = [RedisServer(options=("--port", str(port), "--bind", "127.0.0.1")) for port in ports]
    with running_servers(reached) as servers:
        yield servers, ",".join(f"127.0.0.1:{port}" for port in ports)


@contextlib.contextmanager
def single() -> Iterator[Deployment]:
    with servers_on_ports(1) as (servers, place):
        yield Deployment(StoreUrls(f"redis://{place}/0"), partial(clients_of, servers))


@contextlib.contextmanager
def shards() -> Iterator[Deployment]:
    with servers_on_ports(SHARDS) as (servers, places):
        urls = StoreUrls(f"redis+shards://{places}?partitioner=hash")
        yield Deployment(urls, partial(clients_of, servers))


STANDING: dict[str, Callable[[], contextlib.AbstractContextManager[Deployment]]] = {
    "single": single, "4 shards": shards, "cluster of 3": cluster,
}  # fmt: skip


@contextlib.contextmanager
def deployments(*names: str) -> Iterator[dict[str, Deployment]]:
    """Run the topologies without persistence: the disk is not measured."""
    with contextlib.ExitStack() as stack:
        deployments_by_name = {name: stack.enter_context(STANDING[name]()) for name in names or STANDING}
        for each in deployments_by_name.values():
            for client in each.masters():
                with client:
                    client.config_set("appendonly", "no")
        yield deployments_by_name


@contextlib.asynccontextmanager
async def standing_services(*names: str) -> AsyncIterator[Standing]:
    """Open services on each topology, with empty stores."""
    with deployments(*names) as found:
        async with contextlib.AsyncExitStack() as stack:
            yield {
                name: Place(await stack.enter_async_context(open_services(each.urls, ServiceConfig())), each)
                for name, each in found.items()
            }


async def restore_homes(services: Services, owners: Sequence[AccountId], cap: int) -> None:
    """Fill homes on any topology like full_homes.fill_homes: `cap` entries and a part of the slack."""
    slack = max(1, cap // 10)
    ids = old_ids(cap + 2 * slack)
    templates = [await dumped(services, [*ids[: cap + more], -(ids[-1] - 1)]) for more in range(2 * slack)]
    for start in range(0, len(owners), BATCH):
        places = [
            (owner, owner * 7919 % (slack + slack * (owner % 10) // 10)) for owner in owners[start : start + BATCH]
        ]
        commands: list[Command] = [
            ("RESTORE", keys.home_timeline(owner), 0, templates[more], "REPLACE") for owner, more in places
        ]
        await services.store.execute_all(commands)


async def dumped(services: Services, values: Sequence[int]) -> bytes:
    """Return a list in the format of RESTORE."""
    key = Key("timelines", tag="0", name="template")
    replies = await services.store.node(key).execute_all([("RPUSH", key, *values), ("DUMP", key), ("DEL", key)])
    return bytes(replies[1])
