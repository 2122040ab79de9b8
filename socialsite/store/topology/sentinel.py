"""A master that Sentinel names: one node whose address may change while the site serves.

The master is looked for whenever a connection has to be made, and once a second while there is traffic, so
that one cut off from the others is left as soon as another was promoted. A server that says READONLY was
demoted: no further command goes to it. What was in flight fails as StoreUnavailable, and that is all that
repositories see.
"""

import asyncio
from collections.abc import Sequence

from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel as Discovery
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from socialsite.store.connection import Address, PipelinedConnection
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.node import Node, Reply, encode
from socialsite.store.scripts import Command
from socialsite.store.topology.single import Single

ASK_TIMEOUT_S = 0.5
LOOK_EVERY_S = 1.0


class SentinelNode(Node):
    """The master of `name`, whoever it is. `login`: credentials and database, for any server."""

    def __init__(self, sentinels: Sequence[Address], name: str, login: Address) -> None:
        super().__init__(login)
        self._sentinels = tuple(sentinels)
        self._name = name
        self._look_after = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    async def locate(self) -> Address:
        self.address = await self._ask()
        return self.address

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        await super().close()

    async def send_encoded(self, payload: bytes, replies: int, *, confirm: int = 0) -> list[Reply]:
        self._look_soon()
        return await super().send_encoded(payload, replies, confirm=confirm)

    async def confirmed(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        self._look_soon()
        return await super().confirmed(commands, replicas)

    async def blocking(self, *command: object, timeout_s: float) -> Reply:
        self._look_soon()
        return await super().blocking(*command, timeout_s=timeout_s)

    async def _raw(self, commands: Sequence[Command]) -> list[Reply]:
        self._look_soon()
        return await super()._raw(commands)

    async def _prepare(self, connection: PipelinedConnection) -> None:
        """Believe only a server that calls itself a master: Sentinel's word may be old."""
        await super()._prepare(connection)
        (role,) = await connection.send(encode(("ROLE",)), 1)
        if isinstance(role, StoreError) or role[0] != b"master":
            raise StoreUnavailable(f"{self.address} is not the master of {self._name} (any more, or yet)")

    async def _ask(self) -> Address:
        discovery = Discovery(  # type: ignore[no-untyped-call]
            [(each.host, each.port) for each in self._sentinels],
            sentinel_kwargs={
                "username": self._sentinels[0].username or None, "password": self._sentinels[0].password,
                "socket_timeout": ASK_TIMEOUT_S, "socket_connect_timeout": ASK_TIMEOUT_S, "protocol": 2,
                "retry": Retry(NoBackoff(), 0),
                "driver_info": None,  # it would look for its version in the file system, at each question
            },
        )  # fmt: skip
        try:
            host, port = await discovery.discover_master(self._name)
        except (RedisError, OSError) as error:
            names = ", ".join(map(str, self._sentinels))
            raise StoreUnavailable(
                f"no Sentinel at {names} names a master {self._name!r}: start them, or correct the URL"
            ) from error
        finally:
            for client in discovery.sentinels:
                await client.aclose()
        return self.address.at(str(host), int(port))

    def _look_soon(self) -> None:
        """Once a second, beside the traffic: is this still the master?"""
        now = asyncio.get_running_loop().time()
        is_looking = self._looking is not None and not self._looking.done()
        if now >= self._look_after and not is_looking and not self._opened.is_closed:
            self._look_after = now + LOOK_EVERY_S
            self._looking = asyncio.create_task(self._look())

    async def _look(self) -> None:
        try:
            found = await self._ask()
        except StoreUnavailable:
            return  # a master that answers is not left because no Sentinel does
        if (found.host, found.port) != (self.address.host, self.address.port):
            self._opened.hang_up()  # the next command connects, to the new master


class Sentinel(Single):
    """Every tag on the master."""

    def __init__(self, sentinels: Sequence[Address], name: str, login: Address) -> None:
        self._node = SentinelNode(sentinels, name, login)
        self._replicas = ()

    async def open(self) -> None:
        """Find the master. Raises StoreUnavailable where no Sentinel names one that answers."""
        await self._node.execute("PING")
