"""Connections for writes that replicas have to confirm (REQUIRE_REPLICAS).

WAIT speaks of the writes of its own connection, and holds that connection up: so it is the last command of
the pipeline that wrote, and these connections are others than those that everybody shares. A failover between
the write and WAIT breaks the connection, so a new master can never confirm what only the old one knew.
"""

from collections.abc import Awaitable, Callable
from itertools import cycle
from typing import Any

import hiredis

from socialsite.store.connection import REPLY_TIMEOUT_S, PipelinedConnection
from socialsite.store.errors import Redirected, StoreError, Unconfirmed

encode: Callable[[tuple[Any, ...]], bytes] = hiredis.pack_command
CONNECTIONS = 8  # writes that may wait for replicas side by side, a node
CONFIRM_WITHIN_MS = 1_000


class ConfirmingConnections:
    """A few connections to one server, used in turn."""

    def __init__(self, open_one: Callable[[], Awaitable[PipelinedConnection]]) -> None:
        self._open_one = open_one
        self.connections: list[PipelinedConnection | None] = [None] * CONNECTIONS
        self._turn = cycle(range(CONNECTIONS))

    async def send(self, payload: bytes, replies: int, replicas: int) -> list[Any]:
        """The replies to encoded commands, once `replicas` replicas have what they wrote.

        Error replies stand in the list. Raises Unconfirmed, StoreUnavailable.
        """
        wait = encode(("WAIT", replicas, CONFIRM_WITHIN_MS))
        connection = await self._open(next(self._turn))
        *answers, held = await connection.send(payload + wait, replies + 1, REPLY_TIMEOUT_S)
        if isinstance(held, StoreError):
            raise held
        wrote = not any(isinstance(answer, Redirected) for answer in answers)
        if wrote and int(held) < replicas:
            raise Unconfirmed(f"{held} of {replicas} replicas of {connection.name} confirmed in time")
        return answers

    async def _open(self, place: int) -> PipelinedConnection:
        connection = self.connections[place]
        if connection is None or not connection.is_open:
            opened = await self._open_one()
            connection = self.connections[place]
            if connection is not None and connection.is_open:  # another write was quicker
                opened.close()
            else:
                connection = self.connections[place] = opened
        return connection
