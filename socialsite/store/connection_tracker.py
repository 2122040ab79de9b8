"""The connections that one node made, and their end: once it is closed, nothing of it is open or will be.

A start that fails closes its nodes while some of them are still connecting, and so does whoever stops a site
under way. What `close` finds half made it breaks off, and what arrives behind it is closed on arrival; who
waits for such a connection is told StoreUnavailable.
"""

from collections.abc import Awaitable, Callable
from weakref import WeakSet

from socialsite.store.address import Address
from socialsite.store.connection import PipelinedConnection
from socialsite.store.errors import StoreUnavailable


class ConnectionTracker:
    """Of one node. Also those that it does not send to any more, because their server was demoted."""

    def __init__(self) -> None:
        self.is_closed = False
        self._connections: WeakSet[PipelinedConnection] = WeakSet()
        """The event loop holds whatever is open; what was lost falls out by itself."""

    @property
    def open_connections(self) -> list[PipelinedConnection]:
        """Those that take commands, for whatever they were opened."""
        return [each for each in tuple(self._connections) if each.is_open]

    async def open(
        self,
        locate: Callable[[], Awaitable[Address]],
        prepare: Callable[[PipelinedConnection], Awaitable[None]],
        on_lost: Callable[[PipelinedConnection], None],
    ) -> PipelinedConnection:
        """One that `prepare` is done with and that lives, or none at all. Raises StoreUnavailable."""
        self._require_open()
        connection = await PipelinedConnection.open(await locate(), on_lost)
        self._connections.add(connection)
        try:
            self._require_open()
            await prepare(connection)
            if not connection.is_open:  # nobody would ever hear again that it was lost
                raise StoreUnavailable(f"lost the connection to {connection.name}")
        except BaseException:
            connection.close()
            raise
        return connection

    def drop_connections(self) -> None:
        """The next command connects anew. What a demoted server still owes comes in all the same."""
        for connection in self.open_connections:
            connection.close()

    def close(self) -> None:
        """For ever, all of them."""
        self.is_closed = True
        for connection in tuple(self._connections):
            connection.close()

    def _require_open(self) -> None:
        if self.is_closed:
            raise StoreUnavailable("the store was closed: open another")
