"""Slow down a server's fsync with `strace`."""

import asyncio
import contextlib
import signal
import subprocess
from collections.abc import Iterator

from socialsite.store import Key, Store
from tests.support.redis_server import RedisServer


@contextlib.contextmanager
def slow_disk(server: RedisServer, fsync_s: float) -> Iterator[None]:
    """Delay the start of every fdatasync of the server; the server is killed at the end of the block."""
    delay = f"inject=fdatasync:delay_enter={int(fsync_s * 1e6)}"
    tracer = subprocess.Popen(
        ["strace", "-f", "-e", "trace=fdatasync", "-e", delay, "-e", "signal=none", "-p", str(server.pid)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert tracer.stderr is not None
        first_line = tracer.stderr.readline()
        assert "attached" in first_line, first_line
        yield
    finally:
        server.kill(signal.SIGKILL)  # before the tracer detaches: no fsync may finish in between
        tracer.terminate()
        tracer.communicate(timeout=10)


def unwritten_aof_bytes(server: RedisServer) -> int:
    """Return the number of bytes that are acknowledged but not in the file."""
    with server.client() as client:
        return int(client.info("persistence")["aof_buffer_length"])


def key_of_payload(payload: bytes) -> Key:
    return Key("posts", tag=payload.decode(), name="work")


async def wait_until_fsync_begins(server: RedisServer, store: Store) -> None:
    """Wait until an fsync has just begun: Redis starts one per second if something was written."""
    for is_fsync_running in (False, True):
        while bool(unwritten_aof_bytes(server)) != is_fsync_running:
            await store.execute_all([("SET", key_of_payload(b"before"), "")])
            await asyncio.sleep(0.02)
