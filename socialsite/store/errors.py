"""What can go wrong below the repositories. Nothing here is ever read as "empty"."""

import errno
import os


class StoreError(Exception):
    """Any trouble with the store."""


class StoreUnavailable(StoreError):
    """No answer: connection refused or lost, time-out, server loading or read-only. The effect is unknown."""


class NotDurable(StoreUnavailable):
    """Written, but not confirmed by as many replicas as the site requires; repeating it is safe."""


class PartitionLayoutChanged(StoreUnavailable):
    """Edges were cut anew, the partition meant is no more: look again (timelines/graph/edges.py)."""


class StoreFull(StoreUnavailable):
    """The server refused a write: its memory is used up (noeviction), or its disk. It is still read."""


class CommandRefused(StoreError):
    """The server understood and said no: a defect of ours."""


class WrongType(CommandRefused):
    """WRONGTYPE: something else than the site makes stands at the key."""


class ScriptMissing(CommandRefused):
    """NOSCRIPT: the server does not hold this script (yet, or any more)."""


class ReadOnlyServer(StoreUnavailable):
    """READONLY: the server became a replica; the master is to be looked for again."""


class ClusterRedirection(StoreUnavailable):
    """A cluster's node says where else to ask (DONE, ASK), or to wait (TRYAGAIN, CLUSTERDOWN)."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.kind, _, rest = text.partition(" ")
        place = rest.partition(" ")[2] if self.kind in ("MOVED", "ASK") else ":0"
        host, _, port = place.rpartition(":")
        self.host, self.port = host, int(port)


UNAVAILABLE_CODES = ("LOADING", "MASTERDOWN", "NOREPLICAS", "BUSY", "UNBLOCKED")
DEAD_PEER_MESSAGES = frozenset(
    f"ERR {os.strerror(code)}"
    for code in (
        errno.ECONNREFUSED, errno.ECONNRESET, errno.ETIMEDOUT, errno.EPIPE, errno.EHOSTDOWN,
        errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENOTCONN, errno.ENOENT, errno.EINVAL,
    )
)  # fmt: skip
"""What a proxy answers for a server that it cannot reach: the system's own words."""
REDIRECTION_CODES = ("MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN")


def parse_error(text: str) -> StoreError:
    """The exception for an error reply of the server."""
    code = text.split(" ", 1)[0]
    if code in ("OOM", "MISCONF") or "OOM command not allowed" in text:
        return StoreFull(text)
    if code == "WRONGTYPE":
        return WrongType(text)
    if code == "NOSCRIPT":
        return ScriptMissing(text)
    if code == "READONLY":
        return ReadOnlyServer(text)
    if code in REDIRECTION_CODES:
        return ClusterRedirection(text)
    if code in UNAVAILABLE_CODES or text in DEAD_PEER_MESSAGES or "max number of clients" in text:
        return StoreUnavailable(text)
    return CommandRefused(text)
