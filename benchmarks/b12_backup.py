"""A backup of the slashdot import while posts come in, restored onto another server; and what an audit costs.

82,168 accounts, 870,161 follows, 72,567 posts (slashdot0902, ubuntu-irc). People post and the worker delivers
in the same process while the backup is written. Then everything is audited; the file is checked, written and
read back, caches are rebuilt, and the restored site is audited. Budget: a time for each step, no discrepancy in both
audits, and every post that existed at the start of the backup exists in the restored site. One round.
"""

import asyncio
import contextlib
import random
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.imported import (
    GRAPH,
    POSTS,
    import_graph,
    import_posts,
    open_services_on_one_server,
    split_file,
)
from benchmarks.running import run_alone

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from socialsite.container import Services
    from timelines.audit import AuditReport

POSTS_A_S = 50
POSTS_PER_READ = 500  # posts in one read


async def measure(plan: Plan) -> list[Figure]:
    from socialsite.web.gc_tuning import freeze_startup_objects

    prepare()
    freeze_startup_objects()  # as manage.py does
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (graph,), (posts,) = split_file(GRAPH, folder, plan, 1), split_file(POSTS, folder, plan, 1)
        async with open_services_on_one_server() as site, open_services_on_one_server() as restored:
            await import_graph(site, graph)
            await import_posts(site, posts)
            return await _figures(site, restored, folder / "site.backup")


async def _figures(site: "Services", restored: "Services", path: Path) -> list[Figure]:
    from socialsite.maintenance.backup_file import BackupReader

    before = await read_post_ids(site)
    backup, came = await _backup(site, path)
    load_s, recover_s = await _restore(restored, path)
    audit_s, found = await _audit(site)
    _, found_after = await _audit(restored)
    lost = len(before - await read_post_ids(restored))
    size = f"{BackupReader(path).size / 1e6:.0f} MB"
    return [
        Figure(
            f"backup while {came / backup:.0f} posts a second come in ({size})", "s", Samples.of(backup), at_most(15)
        ),
        Figure("restore: check, write, read back", "s", Samples.of(load_s)),
        Figure("restore: rebuild caches, audit", "s", Samples.of(recover_s), at_most(60)),
        Figure("audit of everything", "s", Samples.of(audit_s), at_most(20), note=f"{found.keys:,} keys"),
        Figure("findings of the audit, of the site", "findings", total(found), at_most(0)),
        Figure("findings of the audit, of the restored site", "findings", total(found_after), at_most(0)),
        Figure(f"of {len(before):,} posts not restored", "posts", Samples.of(lost), at_most(0)),
    ]


def total(report: "AuditReport") -> Samples:
    """Return the number of damaged and leftover keys."""
    return Samples.of((report.damage + report.leftovers).total())


async def read_post_ids(services: "Services") -> set[int]:
    """Return the ids of all readable posts."""
    from socialsite.ids import PostId
    from socialsite.maintenance.scanning import scan_store

    post_ids: set[int] = set()
    async for keys in scan_store(services.store):
        ids = [PostId(int(key.tag)) for key in keys if key.endswith("}:post")]
        post_ids |= set(await services.repositories.posts.find_many(ids))
    return post_ids


async def _backup(services: "Services", path: Path) -> tuple[float, int]:
    """Write a backup; return the seconds and the number of posts published during them."""
    from socialsite.maintenance.backup import Backup

    async with publish_continuously(services) as came:
        started = time.perf_counter()
        await Backup(services.store, services.config.immutable_settings).write(path, services.clock.now_ms())
        took_s, count = time.perf_counter() - started, len(came)
    return took_s, count


@contextlib.asynccontextmanager
async def publish_continuously(services: "Services") -> "AsyncIterator[list[int]]":
    """Publish POSTS_A_S posts a second and run a worker; end after the last delivery."""
    stop, came = asyncio.Event(), list[int]()
    tasks = [asyncio.create_task(_post(services, stop, came)), asyncio.create_task(_work(services, stop))]
    try:
        yield came
    finally:
        stop.set()
        await asyncio.gather(*tasks)


async def _post(services: "Services", stop: asyncio.Event, came: list[int]) -> None:
    from socialsite.ids import AccountId

    last, picks = await services.repositories.accounts.last_id(), random.Random(5)
    while not stop.is_set():
        author = AccountId(picks.randint(1, last))
        now_ms = services.clock.now_ms()
        post = await services.publishing.publish(author_id=author, text=f"while #backup runs {len(came)}",
                                                 now_ms=now_ms)  # fmt: skip
        came.append(post.id)
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


async def _restore(services: "Services", path: Path) -> tuple[float, float]:
    """Return the seconds to restore the file, and to rebuild and audit."""
    from socialsite.maintenance.backup_file import BackupReader
    from socialsite.maintenance.restore import Restore, make_store_body_writer

    started, file = time.perf_counter(), BackupReader(path)
    await asyncio.to_thread(file.verify)
    restore = Restore(services.store, make_store_body_writer(services.store))
    await restore.require_empty()
    await restore.load(file, services.clock.now_ms())
    loaded = time.perf_counter()
    await services.rebuild_after_restore.run()
    return loaded - started, time.perf_counter() - loaded


async def _audit(services: "Services") -> "tuple[float, AuditReport]":
    from timelines.audit import Audit

    started = time.perf_counter()
    report = await Audit(services.audit_context).run()
    return time.perf_counter() - started, report


if __name__ == "__main__":
    run_alone("B12", measure)
