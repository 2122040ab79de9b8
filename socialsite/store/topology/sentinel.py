"""A master that Sentinel names: one node whose address may change while the site serves.

The master is looked for whenever a connection has to be made, and once a second while there is traffic, so
that one cut off from the others is left as soon as another was promoted. A server that says READONLY was
demoted: no further command goes to it. What was in flight fails as StoreUnavailable, and that is all that
repositories see.
"""

import asyncio
from collections.abc import Mapping, Sequence

from socialsite.store.address import Address
from socialsite.store.commands import Command, Reply, encode
from socialsite.store.connection import PipelinedConnection
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.node import Node
from socialsite.store.topology.standalone import Standalone

SENTINEL_TIMEOUT_S = 0.5
"""To connect to a Sentinel, and again for its answer; then the next one is asked."""
MASTER_CHECK_INTERVAL_S = 1.0


class SentinelNode(Node):
    """The master of `name`, whoever it is. `login`: credentials and database, for any server."""

    def __init__(self, sentinels: Sequence[Address], name: str, login: Address) -> None:
        super().__init__(login)
        self._sentinels = tuple(sentinels)
        self._name = name
        self._next_check_at = float("-inf")
        self._check_task: asyncio.Task[None] | None = None

    async def resolve_address(self) -> Address:
        self.address = await self._find_master()
        return self.address

    async def close(self) -> None:
        if self._check_task is not None:
            self._check_task.cancel()
            await asyncio.gather(self._check_task, return_exceptions=True)
        await super().close()

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        self._schedule_master_check()
        return await super().send_encoded(payload, replies, required_replicas=required_replicas)

    async def pipeline_with_wait(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        self._schedule_master_check()
        return await super().pipeline_with_wait(commands, replicas)

    async def blocking(self, *command: object, timeout_s: float) -> Reply:
        self._schedule_master_check()
        return await super().blocking(*command, timeout_s=timeout_s)

    async def _send_commands(self, commands: Sequence[Command]) -> list[Reply]:
        self._schedule_master_check()
        return await super()._send_commands(commands)

    async def _prepare(self, connection: PipelinedConnection) -> None:
        """Believe only a server that calls itself a master: Sentinel's word may be old."""
        await super()._prepare(connection)
        (role,) = await connection.send(encode(("ROLE",)), 1)
        if isinstance(role, StoreError) or role[0] != b"master":
            raise StoreUnavailable(f"{self.address} is not the master of {self._name} (any more, or yet)")

    async def _find_master(self) -> Address:
        reason: Exception | None = None
        for sentinel in self._sentinels:
            try:
                facts = await query_sentinel(sentinel, self._name)
            except (StoreError, TimeoutError) as error:
                reason = error
                continue
            if is_reachable_master(facts):
                return self.address.with_host(facts["ip"], int(facts["port"]))
        names = ", ".join(map(str, self._sentinels))
        raise StoreUnavailable(
            f"no Sentinel at {names} names a master {self._name!r}: start them, or correct the URL"
        ) from reason

    def _schedule_master_check(self) -> None:
        """Once a second, beside the traffic: is this still the master?"""
        now = asyncio.get_running_loop().time()
        is_looking = self._check_task is not None and not self._check_task.done()
        if now >= self._next_check_at and not is_looking and not self._connections.is_closed:
            self._next_check_at = now + MASTER_CHECK_INTERVAL_S
            self._check_task = asyncio.create_task(self._check_master())

    async def _check_master(self) -> None:
        try:
            found = await self._find_master()
        except StoreUnavailable:
            return  # a master that answers is not left because no Sentinel does
        if (found.host, found.port) != (self.address.host, self.address.port):
            self._connections.drop_connections()  # the next command connects, to the new master


class Sentinel(Standalone):
    """Every tag on the master."""

    def __init__(self, sentinels: Sequence[Address], name: str, login: Address) -> None:
        self._node = SentinelNode(sentinels, name, login)
        self._replicas = ()

    async def open(self) -> None:
        """Find the master. Raises StoreUnavailable where no Sentinel names one that answers."""
        await self._node.execute("PING")


async def query_sentinel(sentinel: Address, name: str) -> Mapping[str, str]:
    """What a Sentinel knows of a master. Raises StoreError, TimeoutError.

    By a connection of our own, whose end nothing can interrupt: a store is often closed amid such a question.
    """
    async with asyncio.timeout(SENTINEL_TIMEOUT_S):
        connection = await PipelinedConnection.open(sentinel, lambda lost: None)
    try:
        async with asyncio.timeout(SENTINEL_TIMEOUT_S):
            (told,) = await connection.send(encode(("SENTINEL", "MASTER", name)), 1)
    finally:
        connection.close()
    if isinstance(told, StoreError):
        raise told
    return {field.decode(): value.decode() for field, value in zip(told[::2], told[1::2], strict=True)}


def is_reachable_master(facts: Mapping[str, str]) -> bool:
    """Whether the Sentinel that told this believes it to be up."""
    flags = set(facts["flags"].split(","))
    return "master" in flags and not flags & {"s_down", "o_down"}
