"""The master of a Sentinel group: one node with an address that may change while the site runs.

The node queries Sentinel for the master before each new connection, and once per second while commands are sent. So it
disconnects from an isolated master as soon as another one is promoted. A server that replies READONLY was demoted and
gets no further commands. Commands in flight fail with StoreUnavailable.
"""

import asyncio
from collections.abc import Mapping, Sequence

from socialsite.store.address import Address
from socialsite.store.commands import Command, encode
from socialsite.store.connection import PipelinedConnection
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.node import Node, SentCommands
from socialsite.store.shared_task import SharedTask
from socialsite.store.topology.standalone import Standalone

SENTINEL_TIMEOUT_S = 0.5
"""The time limit for connecting to a Sentinel, and for its reply. Afterwards the next Sentinel is tried."""
MASTER_CHECK_INTERVAL_S = 1.0


class SentinelNode(Node):
    """The current master of the group `name`. `login` has the credentials and database of all its servers."""

    def __init__(self, sentinels: Sequence[Address], name: str, login: Address) -> None:
        super().__init__(login)
        self._sentinels = tuple(sentinels)
        self._name = name
        self._next_check_at = float("-inf")
        self._master_check = SharedTask(self._check_master)

    async def resolve_address(self) -> Address:
        self.address = await self._find_master()
        return self.address

    async def close(self) -> None:
        await self._master_check.cancel()
        await super().close()

    def send_now(self, commands: Sequence[Command]) -> SentCommands | None:
        self._schedule_master_check()
        return super().send_now(commands)

    async def _before_sending(self) -> None:
        self._schedule_master_check()

    async def _prepare(self, connection: PipelinedConnection) -> None:
        """Raise StoreUnavailable if the server is not a master, because the reply of Sentinel may be outdated."""
        await super()._prepare(connection)
        (role,) = await connection.send(encode(("ROLE",)), 1)
        if isinstance(role, StoreError) or role[0] != b"master":
            raise StoreUnavailable(f"{self.address} is not the master of {self._name} (any more, or yet)")

    async def _find_master(self) -> Address:
        reason: Exception | None = None
        for sentinel in self._sentinels:
            try:
                master = await query_sentinel(sentinel, self._name)
            except (StoreError, TimeoutError) as error:
                reason = error
                continue
            if is_reachable_master(master):
                return self.address.with_host(master["ip"], int(master["port"]))
        names = ", ".join(map(str, self._sentinels))
        raise StoreUnavailable(
            f"no Sentinel at {names} names a master {self._name!r}: start them, or correct the URL"
        ) from reason

    def _schedule_master_check(self) -> None:
        """Check in the background, at most once per second, that the node is still the master."""
        now = asyncio.get_running_loop().time()
        if now >= self._next_check_at and not self._connections.is_closed:
            self._next_check_at = now + MASTER_CHECK_INTERVAL_S
            self._master_check.start()

    async def _check_master(self) -> None:
        try:
            master = await self._find_master()
        except StoreUnavailable:
            return  # keep a master that answers even if no Sentinel answers
        if (master.host, master.port) != (self.address.host, self.address.port):
            self._connections.drop_connections()  # the next command connects to the new master


class Sentinel(Standalone):
    """All keys on the master of a Sentinel group."""

    def __init__(self, sentinels: Sequence[Address], name: str, login: Address) -> None:
        self._node = SentinelNode(sentinels, name, login)
        self._replicas = ()

    async def open(self) -> None:
        """Find the master. Raises StoreUnavailable if no Sentinel names a master that answers."""
        await self._node.execute("PING")


async def query_sentinel(sentinel: Address, name: str) -> Mapping[str, str]:
    """Return the reply of SENTINEL MASTER as a dict. Raises StoreError, TimeoutError.

    It uses a connection that is always closed at the end, because a store is often closed during this call.
    """
    async with asyncio.timeout(SENTINEL_TIMEOUT_S):
        connection = await PipelinedConnection.open(sentinel, lambda lost: None)
    try:
        async with asyncio.timeout(SENTINEL_TIMEOUT_S):
            (reply,) = await connection.send(encode(("SENTINEL", "MASTER", name)), 1)
    finally:
        connection.close()
    if isinstance(reply, StoreError):
        raise reply
    return {field.decode(): value.decode() for field, value in zip(reply[::2], reply[1::2], strict=True)}


def is_reachable_master(fields: Mapping[str, str]) -> bool:
    """Return whether the Sentinel considers this master to be up."""
    flags = set(fields["flags"].split(","))
    return "master" in flags and not flags & {"s_down", "o_down"}
