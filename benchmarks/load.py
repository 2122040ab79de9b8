"""The load client, a separate process: `python -m benchmarks.load`, a LoadTask on stdin, a LoadResult on stdout.

It uses little CPU on purpose, so that the server is the bottleneck: requests are bytes created beforehand; only the
head of an answer is parsed and its body is counted. Each keep-alive connection sends the next request after its
answer. The result includes the client's own processor time.
"""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from typing import Any

COUNTER_MARK = b"@@@@@@@@@@@@"
"""Twelve characters in a request that are replaced by a number, different in each request."""
CONTENT_LENGTH_PATTERN = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
END_OF_CHUNKS = b"\r\n0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class LoadTask:
    port: int
    requests: list[str]  # latin-1
    status: int
    seconds: float
    connections: int = 32
    first_number: int = 0


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The result of a run. `client` is the share of one core that the client used; near 1 it was the bottleneck."""

    count: int
    seconds: float
    bytes: float  # mean size of a whole answer
    p50_ms: float
    p99_ms: float
    client: float

    @property
    def per_s(self) -> float:
        return self.count / self.seconds


def put_load(
    port: int,
    requests: Sequence[bytes],
    *,
    seconds: float,
    status: int = 200,
    connections: int = 32,
    first_number: int = 0,
) -> LoadResult:
    """Run a client process to its end. Raises RuntimeError if any answer was not the expected one."""
    texts = [request.decode("latin-1") for request in requests]
    task = LoadTask(port, texts, status, seconds, connections, first_number)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load"],
        input=json.dumps(asdict(task)),
        capture_output=True,
        text=True,
        timeout=seconds + 60,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return LoadResult(**json.loads(done.stdout))


class LoadRun:
    """State shared by all connections."""

    def __init__(self, task: LoadTask) -> None:
        self.turn = cycle([request.encode("latin-1") for request in task.requests])
        self.number = task.first_number
        self.head = b"HTTP/1.1 %d " % task.status
        self.latencies: list[float] = []
        self.bytes = 0
        self.until = time.perf_counter() + task.seconds
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def next(self) -> bytes:
        request = next(self.turn)
        if COUNTER_MARK not in request:
            return request
        self.number += 1
        return request.replace(COUNTER_MARK, b"%012d" % self.number)

    def fail(self, reason: str) -> None:
        if not self.failed.done():
            self.failed.set_exception(RuntimeError(reason))


class Connection(asyncio.Protocol):
    """Send one request after another until the time is up."""

    def __init__(self, run: LoadRun) -> None:
        self._run = run
        self._head = b""
        self._left: int | None = 0  # bytes of the body still to come; None: chunked
        self._tail = b""
        self._asked = 0.0
        self.closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if time.perf_counter() < self._run.until:
            self._run.fail(f"the server closed a connection: {exc}")
        self.closed.set_result(None)

    def _ask(self) -> None:
        self._head, self._tail = b"", b""
        self._in_head = True
        self._asked = time.perf_counter()
        self._transport.write(self._run.next())

    def data_received(self, data: bytes) -> None:
        self._run.bytes += len(data)
        if self._in_head:
            data = self._take_head(data)
        if self._in_head:
            return
        if self._left is None:
            self._tail = (self._tail + data)[-len(END_OF_CHUNKS) :]
            if self._tail == END_OF_CHUNKS:
                self._answered()
            return
        self._left -= len(data)
        if self._left <= 0:
            self._answered()

    def _take_head(self, data: bytes) -> bytes:
        """Return the bytes after the head, once the head is complete."""
        self._head += data
        head, end, body = self._head.partition(b"\r\n\r\n")
        if not end:
            return b""
        if not head.startswith(self._run.head):
            self._run.fail(f"an answer began with {head[:60]!r}")
        length = CONTENT_LENGTH_PATTERN.search(head + b"\r\n")
        self._left = int(length[1]) if length else None
        self._in_head = False
        return body

    def _answered(self) -> None:
        now = time.perf_counter()
        self._run.latencies.append(now - self._asked)
        if now < self._run.until:
            self._ask()
        else:
            self._transport.close()


async def connect(run: LoadRun, port: int) -> Connection:
    loop = asyncio.get_running_loop()
    return (await loop.create_connection(lambda: Connection(run), "127.0.0.1", port))[1]


async def run_task(task: LoadTask) -> LoadResult:
    run = LoadRun(task)
    started, cpu = time.perf_counter(), time.process_time()
    connections = [await connect(run, task.port) for _ in range(task.connections)]
    closed = asyncio.ensure_future(asyncio.gather(*(each.closed for each in connections)))
    ends: set[asyncio.Future[Any]] = {closed, run.failed}
    await asyncio.wait(ends, timeout=task.seconds + 30, return_when=asyncio.FIRST_COMPLETED)
    if run.failed.done():
        run.failed.result()
    if not closed.done():
        raise RuntimeError("answers did not come")
    elapsed = time.perf_counter() - started
    latencies = sorted(run.latencies)
    return LoadResult(
        count=len(latencies),
        seconds=elapsed,
        bytes=run.bytes / len(latencies),
        p50_ms=latencies[len(latencies) // 2] * 1000,
        p99_ms=latencies[len(latencies) * 99 // 100] * 1000,
        client=(time.process_time() - cpu) / elapsed,
    )


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(run_task(LoadTask(**json.load(sys.stdin)))))))
