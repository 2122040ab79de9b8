"""The same site on one server, on four shards and on a cluster of three masters, side by side."""

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from accounts.domain import AccountId
from benchmarks.full_homes import old_ids
from socialsite.configuration import Configuration
from socialsite.services import Services, open_services
from socialsite.store import Command, Key
from tests.support.topologies import TOPOLOGIES, Deployment
from timelines import keys

STANDING = {"single": "single", "4 shards": "shards-hash", "cluster of 3": "cluster"}
"""What they are called here and in tests/support/topologies.py."""
BATCH = 500


@dataclass(frozen=True, slots=True)
class Place:
    """A site on one topology."""

    services: Services
    deployment: Deployment


Standing = dict[str, Place]


@contextlib.contextmanager
def deployments(*names: str) -> Iterator[dict[str, Deployment]]:
    """Started without persistence: the disk is not what is measured."""
    with contextlib.ExitStack() as stack:
        found = {name: stack.enter_context(TOPOLOGIES[STANDING[name]]()) for name in names or STANDING}
        for each in found.values():
            for client in each.masters():
                with client:
                    client.config_set("appendonly", "no")
        yield found


@contextlib.asynccontextmanager
async def standing_services(*names: str) -> AsyncIterator[Standing]:
    """Services over each, with nothing in them."""
    with deployments(*names) as found:
        async with contextlib.AsyncExitStack() as stack:
            yield {
                name: Place(await stack.enter_async_context(open_services(each.urls, Configuration())), each)
                for name, each in found.items()
            }


async def restore_homes(services: Services, owners: Sequence[AccountId], cap: int) -> None:
    """As full_homes.fill_homes, on any topology: homes of `cap` entries and a part of the slack."""
    slack = max(1, cap // 10)
    ids = old_ids(cap + 2 * slack)
    templates = [await dumped(services, [*ids[: cap + more], -(ids[-1] - 1)]) for more in range(2 * slack)]
    for start in range(0, len(owners), BATCH):
        places = [
            (owner, owner * 7919 % (slack + slack * (owner % 10) // 10))
            for owner in owners[start : start + BATCH]
        ]
        commands: list[Command] = [
            ("RESTORE", keys.home_timeline(owner), 0, templates[more], "REPLACE") for owner, more in places
        ]
        await services.store.gather(commands)


async def dumped(services: Services, values: Sequence[int]) -> bytes:
    """A list as RESTORE takes it."""
    key = Key("timelines", tag="0", name="template")
    replies = await services.store.node(key).pipeline([("RPUSH", key, *values), ("DUMP", key), ("DEL", key)])
    return bytes(replies[1])
