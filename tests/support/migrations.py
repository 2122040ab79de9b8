"""Migrations in this process, or in a child that is killed at a chosen step. It loads no model of Django."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

from socialsite.migration import commands as operation
from socialsite.migration.commands import MigrationSite
from socialsite.migration.progress import MigrationProgress, MigrationReport, OnProgress
from socialsite.migration.repartitioner import EdgeFamily
from socialsite.migration.store_factory import open_store
from socialsite.store import Key, StoreUnavailable
from socialsite.store.components import COMPONENTS
from socialsite.store.factory import create_topology

SLICES = 16

FOLLOW_EDGES = EdgeFamily(
    "follows", {"following": "followers", "members": "listed"}, Key("follows", tag="map", name="partitions")
)

KILLED_EXIT_STATUS = -signal.SIGKILL


def migration_site(url: str, **placed: str) -> MigrationSite:
    return MigrationSite(url, placed, COMPONENTS, create_topology)


async def run_migration(
    home: str, to: str, component: str | None = None, on_step: OnProgress | None = None
) -> MigrationReport:
    return await operation.migrate(migration_site(home), to, component, slices=SLICES, on_progress=on_step)


def run_migration_killed_at(step: str, home: str, to: str, way: str = "move") -> int:
    """Run a migration that kills itself with SIGKILL after a step. Returns its exit status."""
    command = [sys.executable, "-m", "tests.support.migrations", step, home, to, way]
    return subprocess.run(command, timeout=60, check=False).returncode


class WriterProcess:
    """A process that writes `posts:{1}:post`, `posts:{2}:post`, ... and records each acknowledged number."""

    def __init__(self, url: str, notes: Path) -> None:
        self._notes = notes
        command = [sys.executable, "-m", "tests.support.migrations", "-", url, str(notes), "write"]
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

    def on_step(step: MigrationProgress) -> None:
        if step.name == fatal and (step.slice_number < 0 or step.slice_number >= SLICES // 2):
            os.kill(os.getpid(), signal.SIGKILL)

    if way == "move":
        asyncio.run(run_migration(home, to, on_step=on_step))
    elif way == "reshape":
        asyncio.run(
            operation.repartition_edges(migration_site(home), FOLLOW_EDGES, int(to), grace_s=0.2, on_progress=on_step)
        )
    elif way == "resume":
        asyncio.run(operation.resume_migration(migration_site(home), on_progress=on_step))
    else:
        asyncio.run(operation.revert_migration(migration_site(home), on_progress=on_step))
    return None


if __name__ == "__main__":
    main()
