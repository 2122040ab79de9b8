"""A master that Sentinel names: one node whose address may change while the site serves.

The master is looked for whenever a connection has to be made, and once a second while there is traffic, so
that one cut off from the others is left as soon as another was promoted. A server that says READONLY was
demoted: no further command goes to it. What was in flight fails as StoreUnavailable, and that is all that
repositories see.
"""

import asyncio
from collections.abc import Mapping, Sequence

from socialsite.store.connection import Address, PipelinedConnection
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.node import Node, Reply, encode
from socialsite.store.scripts import Command
from socialsite.store.topology.standalone import Single

ASK_TIMEOUT_S = 0.5
"""To connect to a Sentinel, and again for its answer; then the next one is asked."""
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
        reason: Exception | None = None
        for sentinel in self._sentinels:
            try:
                facts = await ask_sentinel(sentinel, self._name)
            except (StoreError, TimeoutError) as error:
                reason = error
                continue
            if is_sure_master(facts):
                return self.address.at(facts["ip"], int(facts["port"]))
        names = ", ".join(map(str, self._sentinels))
        raise StoreUnavailable(
            f"no Sentinel at {names} names a master {self._name!r}: start them, or correct the URL"
        ) from reason

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


async def ask_sentinel(sentinel: Address, name: str) -> Mapping[str, str]:
    """What a Sentinel knows of a master. Raises StoreError, TimeoutError.

    By a connection of our own, whose end nothing can interrupt: a store is often closed amid such a question.
    """
    async with asyncio.timeout(ASK_TIMEOUT_S):
        connection = await PipelinedConnection.open(sentinel, lambda lost: None)
    try:
        async with asyncio.timeout(ASK_TIMEOUT_S):
            (told,) = await connection.send(encode(("SENTINEL", "MASTER", name)), 1)
    finally:
        connection.close()
    if isinstance(told, StoreError):
        raise told
    return {field.decode(): value.decode() for field, value in zip(told[::2], told[1::2], strict=True)}


def is_sure_master(facts: Mapping[str, str]) -> bool:
    """Whether the Sentinel that told this believes it to be up."""
    flags = set(facts["flags"].split(","))
    return "master" in flags and not flags & {"s_down", "o_down"}
