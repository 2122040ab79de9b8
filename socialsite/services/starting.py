"""What a process finds wrong before it serves: one sentence each, that says what to do.

Servers that are away may come back, so that is StoreUnavailable as ever (the web answers 503 meanwhile, the
worker ends); anything that waiting does not mend is another StoreError, and nothing starts with it.
"""

import asyncio
import contextlib
from collections.abc import Iterator

from socialsite.store import CommandRefused, Node, Store, StoreError, StoreUnavailable
from socialsite.store.embedded.binaries import EmbeddedServerError
from socialsite.store.replies import parse_info

LOWEST_VERSION = (7, 0)
AWAY = ("cannot connect", "lost the connection", "no answer from", "no node of the cluster")
HINTS = {
    "cluster support disabled": "it is no member of a cluster, so write redis:// for it",
    "MOVED ": "this server is a member of a cluster, so write redis+cluster://",
    "CLUSTERDOWN": "this server is a member of a cluster that is not whole: mend it, then write redis+cluster://",
    "READONLY": "this server is a replica: name its master",
    "NOAUTH": "put user and password into the URL (redis://user:password@host:port)",
    "unauthenticated": "put user and password into the URL (redis://user:password@host:port)",
    "WRONGPASS": "correct user and password in the URL",
    "without any password configured": "take the password out of the URL",
    "NOPERM": "give its user the rights of deploy/redis/users.acl.in",
    "DB index is out of range": "correct the number of the database in the URL",
}
"""What servers say, and what is to be done about it where a site shall start."""


class NotUsable(StoreError):
    """A server that answers, and cannot be the site's as it is or as the URL names it."""


class ServerTooOld(StoreError):
    """A server without the commands that the site is made of, perhaps downgraded."""


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """The trouble of a start, with what to do about it."""
    try:
        yield
    except EmbeddedServerError as error:
        raise NotUsable(str(error)) from error
    except (StoreUnavailable, CommandRefused) as error:
        text = str(error).rstrip(".")
        hint = next((hint for words, hint in HINTS.items() if words in text), None)
        if hint is not None:
            raise NotUsable(f"{text}: {hint}") from error
        if text.startswith(AWAY):
            raise StoreUnavailable(f"{text}: start it, or correct its URL") from error
        raise


async def require_versions(store: Store, lowest: tuple[int, int] = LOWEST_VERSION) -> None:
    """Every server that answers is new enough. Raises ServerTooOld."""
    versions = await asyncio.gather(*(_version_of(node) for node in store.nodes))
    for node, version in zip(store.nodes, versions, strict=True):
        if version is not None and tuple(map(int, version.split(".")[:2])) < lowest:
            wanted = ".".join(map(str, lowest))
            raise ServerTooOld(
                f"{node.address} runs version {version} and the site needs {wanted} or newer: upgrade it"
            )


async def _version_of(node: Node) -> str | None:
    """None where a server is away: one that is lost takes only what lives on it."""
    try:
        info = await node.execute("INFO", "server")
    except StoreUnavailable:
        return None
    return parse_info(info)["redis_version"]
