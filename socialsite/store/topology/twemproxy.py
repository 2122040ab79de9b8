"""Twemproxy (Debian's nutcracker): one entrance, the servers behind it placed by the proxy's own ring.

It closes the connection on whatever it does not know, and everything in flight with it; so a command that is
not on its list (proxy_commands.py) is refused here, before it is sent. Operators' commands (INFO, SCAN, TIME)
go to the servers themselves, the `nodes` of the URL.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence

import hiredis

from socialsite.store.connection import Address, PipelinedConnection
from socialsite.store.errors import ScriptMissing, StoreError, StoreUnavailable, Unconfirmed
from socialsite.store.key import Key
from socialsite.store.node import Node, Reply, encode, whole
from socialsite.store.node_lookup import Groups, KeyOf, OwnerId
from socialsite.store.scripts import Command, Script, key_of
from socialsite.store.topology.twemproxy_commands import not_carried, require_carried

PROBES = 128
"""Tags tried at the start: a server that is not named goes unseen once in 10^16 of four, in 10^6 of ten."""
PROBE_TTL_MS = 10_000


class ProxyRefused(StoreError):
    """The proxy does not place keys as the site needs it. The message says what to do."""


class ProxyNode(Node):
    """The proxy. Commands of one pipeline keep their order for each key, as on a server."""

    def __init__(self, address: Address, servers: Sequence[Node]) -> None:
        super().__init__(address)
        self._servers = servers

    @property
    def losses(self) -> int:
        return super().losses + sum(server.losses for server in self._servers)

    async def written_out(self) -> None:
        """The servers know; which of them answered, only the proxy does. One that was away did not."""
        await asyncio.gather(*(_written_out_unless_away(server) for server in self._servers))

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        raise not_carried("MULTI", commands[0])

    async def blocking(self, *command: object, timeout_s: float) -> Reply:
        raise not_carried(f"a waiting {command[0]}", command)

    async def confirmed(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        raise not_carried("WAIT", commands[0])

    async def send_encoded(self, payload: bytes, replies: int, *, confirm: int = 0) -> list[Reply]:
        if confirm:
            raise not_carried("WAIT", ())
        reader = hiredis.Reader()
        reader.feed(payload)
        while (command := reader.gets()) is not False:
            require_carried((command[0].decode(), *command[1:]))
        return await super().send_encoded(payload, replies)

    async def _raw(self, commands: Sequence[Command]) -> list[Reply]:
        for command in commands:
            require_carried(command)
        return await super()._raw(commands)

    def _encoded(self, connection: PipelinedConnection, commands: Sequence[Command]) -> tuple[int, bytes]:
        """SCRIPT LOAD is not carried: a digest is tried, and the script sent where it is unknown.

        Not in the company of other commands on its tag, which would overtake the second try: it goes whole.
        """
        company = Counter(key_of(command).tag for command in commands) if len(commands) > 1 else {}
        return 0, b"".join(encode(_sent(command, company)) for command in commands)

    async def _mended(self, commands: Sequence[Command], replies: list[Reply]) -> list[Reply]:
        """The scripts that servers had not seen are sent whole, all in one round trip."""
        missing = [place for place, reply in enumerate(replies) if isinstance(reply, ScriptMissing)]
        if missing:
            sources = [whole(commands[place]) for place in missing]
            for place, reply in zip(missing, await super()._raw(sources), strict=True):
                replies[place] = reply
        return await super()._mended(commands, replies)


async def _written_out_unless_away(server: Node) -> None:
    """Away is who cannot be connected to; who goes just now may have answered before."""
    losses = server.losses
    try:
        await server.written_out()
    except Unconfirmed:
        raise
    except StoreUnavailable:
        if server.losses != losses:
            raise


def _sent(command: Command, company: Mapping[str, int]) -> Command:
    if not isinstance(command[1], Script):
        return command
    if company and company[key_of(command).tag] > 1:
        return whole(command)
    return (command[0], command[1].sha, *command[2:])


class Proxy:
    """Every tag behind one proxy; `nodes` are the servers that hold the data."""

    def __init__(self, address: Address, servers: Sequence[Address]) -> None:
        self._servers = tuple(Node(server) for server in servers)
        self._proxy = ProxyNode(address, self._servers)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self._servers

    def node_for(self, tag: str) -> Node:
        return self._proxy

    @property
    def width(self) -> int:
        return 1

    def group(self, owners: Sequence[OwnerId], key_of: KeyOf) -> Groups[OwnerId]:
        return [(self._proxy, owners)]

    async def close(self) -> None:
        for node in (self._proxy, *self._servers):
            await node.close()

    async def open(self) -> None:
        """Write a few keys and look where they went: a wrong configuration would lose data silently."""
        tags = [f"t{secrets.randbelow(10**9)}" for _ in range(PROBES)]
        # Names far apart: without hash_tag the whole key is hashed, and some hashes keep neighbours together.
        names = [f"probe:{secrets.token_hex(8)}" for _ in (0, 1)]
        pairs = [[Key("map", tag=tag, name=name) for name in names] for tag in tags]
        keys = [key for pair in pairs for key in pair]
        await self._proxy.pipeline([("SET", key, 1, "PX", PROBE_TTL_MS) for key in keys])
        looked = await asyncio.gather(
            *(server.pipeline([("EXISTS", key) for key in keys]) for server in self._servers)
        )
        for place in range(0, len(keys), 2):
            self._check([[number for number, found in enumerate(looked) if found[place + n]] for n in (0, 1)])
        await self._proxy.pipeline([("DEL", key) for key in keys])

    def _check(self, holders: list[list[int]]) -> None:
        """Of two keys with one tag: the servers that hold each."""
        at = self._proxy.address
        if not all(holders):
            raise ProxyRefused(
                f"Twemproxy at {at} has servers that `nodes` does not name: name all of them in the URL"
            )
        if holders[0] != holders[1]:
            raise ProxyRefused(
                f'Twemproxy at {at} does not place keys by their tag: put `hash_tag: "{{}}"` into its pool'
            )
        if len(holders[0]) > 1:
            raise ProxyRefused(f"`nodes` names a server behind Twemproxy at {at} twice: name each once")
