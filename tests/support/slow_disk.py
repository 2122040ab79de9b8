"""A server whose disk is slow over an fsync, by `strace`."""

import asyncio
import contextlib
import signal
import subprocess
from collections.abc import Iterator

from socialsite.store import Key, Store
from tests.support.redis_server import RedisServer


@contextlib.contextmanager
def slow_disk(server: RedisServer, fsync_s: float) -> Iterator[None]:
    """Every fdatasync of the server begins so much later; killed when this ends."""
    delay = f"inject=fdatasync:delay_enter={int(fsync_s * 1e6)}"
    tracer = subprocess.Popen(
        ["strace", "-f", "-e", "trace=fdatasync", "-e", delay, "-e", "signal=none", "-p", str(server.pid)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert tracer.stderr is not None
        said = tracer.stderr.readline()
        assert "attached" in said, said
        yield
    finally:
        server.kill(signal.SIGKILL)  # before the tracer lets go of it: no fsync may end in between
        tracer.terminate()
        tracer.communicate(timeout=10)


def unwritten_aof_bytes(server: RedisServer) -> int:
    """Bytes that are answered for, and not in the file."""
    with server.client() as client:
        return int(client.info("persistence")["aof_buffer_length"])


def key_of_payload(payload: bytes) -> Key:
    return Key("posts", tag=payload.decode(), name="work")


async def wait_until_fsync_begins(server: RedisServer, store: Store) -> None:
    """Until an fsync has just begun: Redis begins one a second, where something is written."""
    for wanted in (False, True):
        while bool(unwritten_aof_bytes(server)) != wanted:
            await store.gather([("SET", key_of_payload(b"before"), "")])
            await asyncio.sleep(0.02)
