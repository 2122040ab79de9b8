"""Parse the replies of INFO, HGETALL and EXEC, and values in MessagePack."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from socialsite.store.errors import StoreError, StoreUnavailable

T = TypeVar("T")
MIN_VERSION = (7, 0)
"""The oldest version of Redis with all commands that the site uses."""
TRIED_VERSIONS = {"redis": ("7.0", "8.0"), "valkey": ("8.1", "9.1")}
"""The servers with which the contract and fault tests passed (docs/reference/topologies.md)."""
NO_EVICTION = "noeviction"
"""The only maxmemory-policy with which a server never deletes data."""


def parse_info(info: bytes) -> dict[str, str]:
    lines = (line.partition(":") for line in info.decode("utf-8", "replace").splitlines())
    return {name: value for name, colon, value in lines if colon}


def parse_hash(reply: Sequence[bytes]) -> dict[str, str]:
    """Return the fields of an HGETALL reply."""
    return {name.decode(): value.decode() for name, value in zip(reply[::2], reply[1::2], strict=True)}


def decode_or_none(decoder: msgspec.msgpack.Decoder[T], value: bytes | None) -> T | None:
    """Return the decoded value, or None if it does not exist, is damaged, or was written by another release."""
    try:
        return None if value is None else decoder.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def exec_results(replies: Sequence[Any]) -> list[Any]:
    """Return the replies of the commands in a transaction. Raises the first error among them.

    `replies` contains the replies to MULTI, to each command, and to EXEC.
    """
    results: list[Any] | None = replies[-1]
    if results is None:
        raise StoreUnavailable("the transaction was not executed")
    for result in results:
        if isinstance(result, StoreError):
            raise result
    return results
