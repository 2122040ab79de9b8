"""Use connections only under a valid lease, and kill the connections of processes that lost their lease.

Every connection of a process has a CLIENT name with the process id and the id of the migration that the process
knows. A new connection is used for writes only if the lease is valid. So a process that lost its lease cannot write
once its connections are killed. A clock in the process could not guarantee this: the process may be paused between its
check of the clock and the write. If the process gets no lease, a new connection is used for reads, provided that no
migration can be in progress (process_lease.py).

Only the migrator needs permission for CLIENT LIST and CLIENT KILL.
"""

from collections.abc import Awaitable, Callable, Iterable

from socialsite.store.commands import encode
from socialsite.store.connection import PipelinedConnection
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.node import Node

SITE_NAME_PREFIX = "site-"


class ConnectionGate:
    """Names the new connections of one active topology and requires a lease for them.

    `may_read` returns whether a new connection may be used for reads without a lease.
    """

    def __init__(
        self,
        name: str,
        require_lease: Callable[[], Awaitable[None]],
        may_read: Callable[[PipelinedConnection], Awaitable[bool]] | None = None,
    ) -> None:
        self.name = name
        self.is_closed = False
        self._require_lease = require_lease
        self._may_read = may_read

    def close(self) -> None:
        """Refuse new connections of a replaced topology, because they would write to the old servers."""
        self.is_closed = True

    async def authorize(self, connection: PipelinedConnection) -> None:
        """Name the connection, then require the lease; without a lease allow only reads. Raises StoreError.

        The name comes first, so that every connection in use can be found and killed.
        """
        (reply,) = await connection.send(encode(("CLIENT", "SETNAME", self.name)), 1)
        if isinstance(reply, StoreError):
            raise reply
        try:
            await self._require_lease()
        except StoreUnavailable:
            if self._may_read is None or not await self._may_read(connection):
                raise
            connection.is_read_only = True
        self._require_open()

    async def authorize_writes(self, connection: PipelinedConnection) -> None:
        """Require the lease for a connection that was opened without it. Raises StoreUnavailable."""
        await self._require_lease()
        self._require_open()
        connection.is_read_only = False

    def _require_open(self) -> None:
        if self.is_closed:
            raise StoreUnavailable("the data of this connection is moving: try again")


def client_name(process: str, migration_id: str = "") -> str:
    """Return the CLIENT name of a connection. Without a migration id it is the prefix of all names of a process."""
    return f"{SITE_NAME_PREFIX}{process}.{migration_id}"


async def kill_clients(nodes: Iterable[Node], should_kill: Callable[[int, str], bool]) -> None:
    for node in nodes:
        clients = _parse_client_list(await node.execute("CLIENT", "LIST"))
        for id in [id for id, name in clients if should_kill(id, name)]:
            await node.execute("CLIENT", "KILL", "ID", id, "SKIPME", "yes")


def _parse_client_list(reply: bytes) -> Iterable[tuple[int, str]]:
    for line in reply.decode(errors="replace").splitlines():
        fields = dict(part.split("=", 1) for part in line.split(" ") if "=" in part)
        yield int(fields["id"]), fields.get("name", "")
