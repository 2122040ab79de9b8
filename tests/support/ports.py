"""Reserve TCP ports for this process, for servers that tests start and restart.

A port assigned by the kernel and closed again may be taken before its server listens on it, or while that server
restarts: any client's end may get it, because those come from the kernel's range. So all ports here are below that
range (32768 on Linux). Each process has a block of a hundred and listens on the first of them while it runs.
"""

import contextlib
import itertools
import os
import socket
from collections.abc import Iterator

FIRST, BLOCK, BLOCKS = 12_000, 100, 100
BUS = 10_000
"""A cluster member's bus listens this much above its port: both are reserved together."""


def free_port() -> int:
    """Return a free port of 127.0.0.1 whose bus port is also free. Ports repeat after many calls."""
    return next(_free)


def free_ports(count: int) -> list[int]:
    assert count < BLOCK // 2, "a process has a hundred"
    return list(itertools.islice(_free, count))


def _kept_ports() -> Iterator[int]:
    """Yield the free ports of this process's block in a cycle; the first call reserves the block."""
    block_socket = _take_block()
    first = int(block_socket.getsockname()[1])
    while True:
        free = [port for port in range(first + 1, first + BLOCK) if _is_free(port) and _is_free(port + BUS)]
        assert free, f"every port from {first} to {first + BLOCK} is in use"
        for port in free:
            if _is_free(port) and _is_free(port + BUS):
                yield port


def _take_block() -> socket.socket:
    """Listen on the first port of a free block; the search starts at a block that depends on the process id."""
    for number in range(BLOCKS):
        place = FIRST + BLOCK * ((os.getpid() + number) % BLOCKS)
        with contextlib.suppress(OSError):
            return socket.create_server(("127.0.0.1", place))
    raise AssertionError(f"all {BLOCKS} blocks of ports are taken by other processes")


def _is_free(port: int) -> bool:
    """Return whether a server may listen on the port, even if its old connections are not fully closed."""
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        return True
    return False


_free = _kept_ports()
