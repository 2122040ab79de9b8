"""Moves for tests: in this process, or in one of its own that dies at a chosen step."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

from socialsite.migration import commands as operation
from socialsite.migration.commands import Edges, Site
from socialsite.migration.mover import Report
from socialsite.migration.opening import open_store
from socialsite.migration.progress import OnStep, Step
from socialsite.store import Key, StoreUnavailable
from socialsite.store.factory import COMPONENTS, topology_of

SLICES = 16
FOLLOW_EDGES = Edges(
    "follows", {"following": "followers", "members": "listed"}, Key("follows", tag="map", name="partitions")
)
DIED = -signal.SIGKILL


def site_at(url: str, **placed: str) -> Site:
    return Site(url, placed, COMPONENTS, topology_of)


async def move(home: str, to: str, component: str | None = None, on_step: OnStep | None = None) -> Report:
    return await operation.move(site_at(home), to, component, slices=SLICES, on_step=on_step)


def mover_killed_at(step: str, home: str, to: str, way: str = "move") -> int:
    """Run a mover that dies by kill -9 right behind a step; its return code."""
    command = [sys.executable, "-m", "tests.support.repartition", step, home, to, way]
    return subprocess.run(command, timeout=60, check=False).returncode


class WriterProcess:
    """Writes `posts:{1}:post`, `posts:{2}:post`, ... by a store of its own; notes each acknowledged one."""

    def __init__(self, url: str, notes: Path) -> None:
        self._notes = notes
        command = [sys.executable, "-m", "tests.support.repartition", "-", url, str(notes), "write"]
        self._process = subprocess.Popen(command)

    @property
    def acknowledged(self) -> list[int]:
        return [int(line) for line in self._notes.read_text().split()] if self._notes.exists() else []

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(10)


async def write_for_ever(url: str, notes: str) -> None:
    store = await open_store(url)
    with open(notes, "a", buffering=1) as acknowledged:
        for number in itertools.count(1):
            key = Key("posts", tag=str(number), name="post")
            try:
                await store.node(key).execute("SET", key, number)
            except StoreUnavailable:
                await asyncio.sleep(0.01)
            else:
                acknowledged.write(f"{number}\n")


def main() -> None:
    fatal, home, to, way = sys.argv[1:]
    if way == "write":
        return asyncio.run(write_for_ever(home, to))

    def on_step(step: Step) -> None:
        if step.name == fatal and (step.number < 0 or step.number >= SLICES // 2):
            os.kill(os.getpid(), signal.SIGKILL)

    if way == "move":
        asyncio.run(move(home, to, on_step=on_step))
    elif way == "reshape":
        asyncio.run(operation.reshape(site_at(home), FOLLOW_EDGES, int(to), grace_s=0.2, on_step=on_step))
    elif way == "resume":
        asyncio.run(operation.resume(site_at(home), on_step=on_step))
    else:
        asyncio.run(operation.back(site_at(home), on_step=on_step))
    return None


if __name__ == "__main__":
    main()
