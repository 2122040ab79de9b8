"""A process that is killed by SIGKILL after any of its replies from the store."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.support.fault_proxy import Fault, FaultProxy
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
FORKING = """
import asyncio, os, signal, sys
import django
django.setup()
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls

async def run():
    async with open_services(StoreUrls(sys.argv[1]), ServiceConfig()) as services:
        print(os.getpid(), flush=True)
        line = os.read(0, 64)  # blocks the loop, so that no background task sends
        if not line:  # the test was killed
            os.killpg(os.getpgrp(), signal.SIGKILL)
        await act(services, line)
        print("done", flush=True)
        os._exit(0)

while True:
    child = os.fork()
    if child == 0:
        asyncio.run(run())
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and status:  # without its store, which ended with the test, no process can begin
        sys.exit(1)
"""


@contextmanager
def dying_processes(url: str, act: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Start a process that forks one process after another; each calls `act(services, line)` with a line that it reads.

    `act` is the source of this coroutine function.
    """
    command = [sys.executable, "-c", textwrap.dedent(act) + FORKING, url]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        try:
            yield parent.stdin, parent.stdout
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


async def run_and_die(proxy: FaultProxy, stdin: IO[bytes], stdout: IO[bytes], line: bytes, replies: int) -> bool:
    """Kill the process after it received so many replies. Return False if it ended before."""
    pid = int(stdout.readline())
    proxy.drop_replies_after(replies, Fault.DROP)
    stdin.write(line)
    stdin.flush()
    os.set_blocking(stdout.fileno(), False)
    answer: list[bytes] = []

    def is_over() -> bool:
        answer.extend(filter(None, [stdout.readline()]))
        return bool(answer) or proxy.until_swallowed is None

    await eventually(is_over, 20)
    os.set_blocking(stdout.fileno(), True)
    if answer:
        return False
    os.kill(pid, signal.SIGKILL)
    proxy.set_fault(Fault.PASS)
    return True
