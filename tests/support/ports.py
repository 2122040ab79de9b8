"""TCP ports for servers that tests start: kept for this process while others start theirs, or open sockets.

A port that the kernel gave and that was let go again may be taken before its server listens on it, and while
that server is restarted: by any client of anybody, whose own ends lie in the kernel's range. So all are below
that range (32768 on Linux), a hundred to a process, which holds the first of them for as long as it lives.
"""

import contextlib
import itertools
import os
import socket
from collections.abc import Iterator

FIRST, BLOCK, BLOCKS = 12_000, 100, 100
BUS = 10_000
"""The bus of a cluster's member listens this much above its port: those are kept together."""


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, nor on its bus; the same comes again after many others."""
    return next(_free)


def free_ports(count: int) -> list[int]:
    """Distinct ports."""
    assert count < BLOCK // 2, "a process has a hundred"
    return list(itertools.islice(_free, count))


def _kept_ports() -> Iterator[int]:
    """Those of a block of our own, again and again; it is taken when the first is asked for."""
    held = _take_block()
    first = int(held.getsockname()[1])
    while True:
        found = [port for port in range(first + 1, first + BLOCK) if _is_free(port) and _is_free(port + BUS)]
        assert found, f"every port from {first} to {first + BLOCK} is in use"
        for port in found:
            if _is_free(port) and _is_free(port + BUS):
                yield port


def _take_block() -> socket.socket:
    """Listens on the first port of a block that no other process has; where to begin differs by process."""
    for number in range(BLOCKS):
        place = FIRST + BLOCK * ((os.getpid() + number) % BLOCKS)
        with contextlib.suppress(OSError):
            return socket.create_server(("127.0.0.1", place))
    raise AssertionError(f"all {BLOCKS} blocks of ports are taken by other processes")


def _is_free(port: int) -> bool:
    """Servers may listen anew on a port whose old connections are not quite over, and so does this."""
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        return True
    return False


_free = _kept_ports()
