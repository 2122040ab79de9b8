"""Making sure that somebody who stood still cannot write any more when it wakes: its connections are cut.

Every connection of a process carries the name of its store, and a new one is only used under a valid lease.
So whoever lost its lease has no way to a server once these are gone; a clock in the process alone could not
promise that, for it may stop between a look at the clock and the write.
"""

from collections.abc import Collection, Iterable

from socialsite.store.node import Node

NAME = "site-"


def name_of(process: str, arrangement: int | str) -> str:
    """CLIENT SETNAME of a connection."""
    return f"{NAME}{process}.{arrangement}"


async def cut(nodes: Iterable[Node], names: Collection[str], *, but: Collection[int] = ()) -> int:
    """Cut all connections whose name begins so, but for those with these ids. Returns how many."""
    count = 0
    for node in nodes:
        listed = await node.execute("CLIENT", "LIST")
        found = [id for id, name in _clients(listed) if id not in but and name.startswith(tuple(names))]
        for id in found:
            count += int(await node.execute("CLIENT", "KILL", "ID", id, "SKIPME", "yes"))
    return count


def _clients(listed: bytes) -> Iterable[tuple[int, str]]:
    """(id, name) of CLIENT LIST."""
    for line in listed.decode(errors="replace").splitlines():
        fields = dict(part.split("=", 1) for part in line.split(" ") if "=" in part)
        yield int(fields["id"]), fields.get("name", "")
