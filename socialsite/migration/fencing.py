"""Making sure that somebody who stood still cannot write any more when it wakes: its connections are cut.

Every connection of a process carries the name of its store and the move it knows of, and a new one is only
used under a valid lease. So whoever lost its lease has no way to a server once these are gone; a clock in the
process alone could not promise that, for it may stop between a look at the clock and the write.

The mover alone needs the right to CLIENT LIST and CLIENT KILL.
"""

from collections.abc import Callable, Iterable

from socialsite.store.node import Node

SITE_NAME_PREFIX = "site-"


def client_name(process: str, move_id: str = "") -> str:
    """CLIENT SETNAME of a connection; without a move, how the names of a process begin."""
    return f"{SITE_NAME_PREFIX}{process}.{move_id}"


async def kill_clients(nodes: Iterable[Node], is_meant: Callable[[int, str], bool]) -> None:
    """Cut all connections that are meant by id and name."""
    for node in nodes:
        listed = await node.execute("CLIENT", "LIST")
        for id in [id for id, name in _parse_client_list(listed) if is_meant(id, name)]:
            await node.execute("CLIENT", "KILL", "ID", id, "SKIPME", "yes")


def _parse_client_list(listed: bytes) -> Iterable[tuple[int, str]]:
    """(id, name) of CLIENT LIST."""
    for line in listed.decode(errors="replace").splitlines():
        fields = dict(part.split("=", 1) for part in line.split(" ") if "=" in part)
        yield int(fields["id"]), fields.get("name", "")
