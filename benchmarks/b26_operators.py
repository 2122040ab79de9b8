"""Operators' work on a quarter of the slashdot import: a backup while posts come in, its restore, and audits.

Posts are published and delivered in the same process while the backup is written. Restore: the file is checked, written
to an empty server and read back, caches are rebuilt, and the restored site is audited. Reference of each: every key is
read once through the same connection (SCAN, then DUMP of each step at once), without posts meanwhile. No audit may find
anything, and every post that existed at the start of the backup exists in the restored site.
"""

import asyncio
import contextlib
import random
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.imported import GRAPH, POSTS, import_graph, import_posts, open_services_on_one_server, split_file

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from socialsite.container import Services
    from timelines.audit import AuditReport

T = TypeVar("T")
SHARE = 0.25
POSTS_A_S = 50
READ_ONCE = "every key read once"


async def measure(plan: Plan) -> list[Figure]:
    from socialsite.web.gc_tuning import freeze_startup_objects

    prepare()
    freeze_startup_objects()  # as manage.py does
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        graph, posts = (split_file(name, folder, plan, SHARE)[0] for name in (GRAPH, POSTS))
        async with open_services_on_one_server() as site:
            await import_graph(site, graph)
            await import_posts(site, posts)
            rounds = [await measure_round(site, folder / f"{n}.backup") for n in range(plan.rounds)]
    read, backup, restore, audit, found, lost = map(Samples.all, zip(*rounds, strict=True))
    return [
        Figure(f"backup while up to {POSTS_A_S} posts a second come in", "s", backup, at_most(2), read, READ_ONCE),
        Figure("restore, caches and audit", "s", restore, at_most(4), read, READ_ONCE),
        Figure("audit of everything", "s", audit, at_most(3), read, READ_ONCE),
        Figure("findings of both audits", "findings", found, at_most(0)),
        Figure("posts not restored", "posts", lost, at_most(0)),
    ]


async def measure_round(site: "Services", path: Path) -> tuple[float, ...]:
    """Return the seconds to read once, back up, restore and audit, the findings, and the number of lost posts."""
    from socialsite.maintenance.backup import Backup
    from timelines.audit import Audit

    read_s, _ = await timed(read_every_key(site))
    before = await read_post_ids(site)
    async with publish_continuously(site):
        backup = Backup(site.store, site.config.immutable_settings).write(path, site.clock.now_ms())
        backup_s, _ = await timed(backup)
    async with open_services_on_one_server() as restored:
        restore_s, last_report = await timed(restore_file(restored, path))
        lost = len(before - await read_post_ids(restored))
    audit_s, report = await timed(Audit(site.audit_context).run())
    found = sum((each.damage + each.leftovers).total() for each in (report, last_report))
    return read_s, backup_s, restore_s, audit_s, found, lost


async def timed(work: Awaitable[T]) -> tuple[float, T]:
    """Return the seconds, and the result."""
    started = time.perf_counter()
    result = await work
    return time.perf_counter() - started, result


async def read_every_key(services: "Services") -> None:
    from socialsite.maintenance.scanning import scan_store

    async for keys in scan_store(services.store):
        await services.store.execute_all([("DUMP", key) for key in keys])


async def read_post_ids(services: "Services") -> set[int]:
    """Return the ids of all readable posts."""
    from socialsite.ids import PostId
    from socialsite.maintenance.scanning import scan_store

    post_ids: set[int] = set()
    async for keys in scan_store(services.store):
        ids = [PostId(int(key.tag)) for key in keys if key.endswith("}:post")]
        post_ids |= set(await services.repositories.posts.find_many(ids))
    return post_ids


async def restore_file(services: "Services", path: Path) -> "AuditReport":
    """Restore, and return the report of the last audit."""
    from socialsite.maintenance.backup_file import BackupReader
    from socialsite.maintenance.restore import Restore, make_store_body_writer

    file = BackupReader(path)
    await asyncio.to_thread(file.verify)
    restore = Restore(services.store, make_store_body_writer(services.store))
    await restore.require_empty()
    await restore.load(file, services.clock.now_ms())
    return await services.rebuild_after_restore.run()


@contextlib.asynccontextmanager
async def publish_continuously(services: "Services") -> "AsyncIterator[None]":
    """Publish POSTS_A_S posts a second and run a worker; end after the last delivery."""
    stop = asyncio.Event()
    tasks = [asyncio.create_task(_post(services, stop)), asyncio.create_task(_work(services, stop))]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks)


async def _post(services: "Services", stop: asyncio.Event) -> None:
    from socialsite.ids import AccountId

    last, picks = await services.repositories.accounts.last_id(), random.Random(5)
    while not stop.is_set():
        author, now_ms = AccountId(picks.randint(1, last)), services.clock.now_ms()
        await services.publishing.publish(author_id=author, text="while #backup runs", now_ms=now_ms)
        await asyncio.sleep(1 / POSTS_A_S)


async def _work(services: "Services", stop: asyncio.Event) -> None:
    outbox, is_last = services.outbox, False
    await outbox.create_group()
    while True:
        jobs = await outbox.fetch("abad1dea", 100, 1)
        for job in jobs:
            await outbox.finish(job, await services.fan_out.handle(job.payload))
        if not jobs and is_last:
            return
        is_last = not jobs and stop.is_set()
        await asyncio.sleep(0 if jobs else 0.01)
