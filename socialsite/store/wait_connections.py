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
from socialsite.store.errors import ClusterRedirection, NotDurable, StoreError

encode: Callable[[tuple[Any, ...]], bytes] = hiredis.pack_command
WAIT_CONNECTIONS_PER_NODE = 8  # writes that may wait for replicas side by side, a node
WAIT_TIMEOUT_MS = 1_000


class WaitConnections:
    """A few connections to one server, used in turn."""

    def __init__(self, open_one: Callable[[], Awaitable[PipelinedConnection]]) -> None:
        self._open_connection = open_one
        self.connections: list[PipelinedConnection | None] = [None] * WAIT_CONNECTIONS_PER_NODE
        self._next_index = cycle(range(WAIT_CONNECTIONS_PER_NODE))

    async def send(self, payload: bytes, replies: int, replicas: int) -> list[Any]:
        """The replies to encoded commands, once `replicas` replicas have what they wrote.

        Error replies stand in the list. Raises Unconfirmed, StoreUnavailable.
        """
        wait = encode(("WAIT", replicas, WAIT_TIMEOUT_MS))
        connection = await self._get_connection(next(self._next_index))
        *answers, held = await connection.send(payload + wait, replies + 1, REPLY_TIMEOUT_S)
        if isinstance(held, StoreError):
            raise held
        wrote = not any(isinstance(answer, ClusterRedirection) for answer in answers)
        if wrote and int(held) < replicas:
            raise NotDurable(f"{held} of {replicas} replicas of {connection.name} confirmed in time")
        return answers

    async def _get_connection(self, place: int) -> PipelinedConnection:
        connection = self.connections[place]
        if connection is None or not connection.is_open:
            opened = await self._open_connection()
            connection = self.connections[place]
            if connection is not None and connection.is_open:  # another write was quicker
                opened.close()
            else:
                connection = self.connections[place] = opened
        return connection
