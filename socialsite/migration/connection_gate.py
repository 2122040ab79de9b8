"""Who may use a new connection: only a process whose lease holds."""

from collections.abc import Awaitable, Callable

from socialsite.store.commands import encode
from socialsite.store.connection import PipelinedConnection
from socialsite.store.errors import StoreUnavailable


class ConnectionGate:
    """Of one arrangement of a store: connections of its nodes are named, and let through under a lease."""

    def __init__(self, name: str, require_lease: Callable[[], Awaitable[None]]) -> None:
        self.name = name
        self.is_closed = False
        self._require_lease = require_lease

    def close(self) -> None:
        """The arrangement is over: what connects now would write to where data has left."""
        self.is_closed = True

    async def authorize(self, connection: PipelinedConnection) -> None:
        """Named first: no connection is used that could not be found and cut. Raises StoreUnavailable."""
        await connection.send(encode(("CLIENT", "SETNAME", self.name)), 1)
        await self._require_lease()
        if self.is_closed:
            raise StoreUnavailable("the data of this connection is moving: try again")
