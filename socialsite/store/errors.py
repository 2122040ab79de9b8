"""Errors of the store. Repositories never read an error as empty data."""

import errno
import os


class StoreError(Exception):
    """Base of all errors of the store."""


class StoreUnavailable(StoreError):
    """The server did not answer: connection lost, timeout, loading or read-only. A write may have been executed."""


class NotDurable(StoreUnavailable):
    """Too few replicas confirmed a write, or it may be missing in the append-only file. The write may be repeated."""


class PartitionLayoutChanged(StoreUnavailable):
    """A component was repartitioned. The caller has to compute the partition again (timelines/graph/edges.py)."""


class WritesRefused(StoreUnavailable):
    """The server refuses writes and answers reads, because too few replicas are connected (NOREPLICAS)."""


class StoreFull(WritesRefused):
    """The memory or disk of the server is full (OOM, MISCONF)."""


class CommandRefused(StoreError):
    """The server refused the command. This is a bug of the site."""


class AccessDenied(StoreUnavailable, CommandRefused):
    """NOPERM: the user in the server's URL lacks a right. Jobs are tried again, because an operator may grant it."""


class WrongType(CommandRefused):
    """WRONGTYPE: the key has a value of another type."""


class ScriptMissing(CommandRefused):
    """NOSCRIPT: the script is not in the server's cache."""


class ReadOnlyServer(WritesRefused):
    """READONLY: the server has become a replica."""


class ClusterRedirection(StoreUnavailable):
    """A cluster node named another node (MOVED, ASK), or the caller has to wait (TRYAGAIN, CLUSTERDOWN)."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.kind, _, rest = text.partition(" ")
        address = rest.partition(" ")[2] if self.kind in ("MOVED", "ASK") else ":0"
        host, _, port = address.rpartition(":")
        self.host, self.port = host, int(port)


UNAVAILABLE_CODES = ("LOADING", "MASTERDOWN", "BUSY", "UNBLOCKED")
DEAD_PEER_MESSAGES = frozenset(
    f"ERR {os.strerror(code)}"
    for code in (
        errno.ECONNREFUSED, errno.ECONNRESET, errno.ETIMEDOUT, errno.EPIPE, errno.EHOSTDOWN,
        errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENOTCONN, errno.ENOENT, errno.EINVAL,
    )
)  # fmt: skip
"""The error replies of a proxy that cannot reach its server. They are messages of the operating system."""
REDIRECTION_CODES = ("MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN")


def parse_error(text: str) -> StoreError:
    code = text.split(" ", 1)[0]
    if code in ("OOM", "MISCONF") or "OOM command not allowed" in text:
        return StoreFull(text)
    if code == "NOPERM" or text.startswith("ERR The user executing the script"):
        return AccessDenied(text)
    if code == "WRONGTYPE":
        return WrongType(text)
    if code == "NOSCRIPT":
        return ScriptMissing(text)
    if code == "READONLY" or text.startswith("ERR WAIT cannot be used with replica"):
        return ReadOnlyServer(text)
    if code == "NOREPLICAS":
        return WritesRefused(text)
    if code in REDIRECTION_CODES:
        return ClusterRedirection(text)
    if code in UNAVAILABLE_CODES or text in DEAD_PEER_MESSAGES or "max number of clients" in text:
        return StoreUnavailable(text)
    return CommandRefused(text)
