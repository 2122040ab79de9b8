"""A worker that exports, imports or undoes an import is killed by SIGKILL after any of its replies: nothing is lost."""

import faulthandler
import json
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from tests.contract.importing.test_import_archives import attachment, note
from tests.contract.importing.test_imports_by_people import mastodon, pictures
from tests.support import imports
from tests.support.corpora import read_posts
from tests.support.dying_process import ROOT, dying_processes, run_and_die
from tests.support.fault_proxy import FaultProxy
from tests.support.pictures import picture
from tests.support.redis_server import RedisServer
from tests.support.world import World

pytestmark = pytest.mark.slow

TRIES = 6
EXPORT_REPLIES = 30
"""An export of three posts receives fewer replies."""
IMPORT_REPLIES = 46
"""An import of thirty posts receives 41 to 46 replies, its undoing 34."""
NEVER = 1 << 30
POSTS = 72_567
ACT = """
async def act(services, line):
    from tests.support.imports import perform_transfers

    await perform_transfers(services)
"""


async def finish_jobs(services: Services) -> None:
    """Perform the jobs that the killed process has left."""
    for queue in (services.archive_queue, services.export_queue):
        for job in await queue.reclaim("abad1dee", count=10):
            await queue.finish(job, await services.imports.handle(job.payload))
    await imports.perform_transfers(services)


async def test_an_import_and_its_undoing_that_die_at_any_step_are_completed(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    alice = await world.person("alice")
    notes = [note(number, published=f"2020-01-01T00:00:{number:02}Z") for number in range(1, 30)]
    notes.append(note(30, attachment=[attachment("a.jpg")], inReplyTo="https://example.org/1"))
    file = mastodon(*notes, files={"a.jpg": picture()})
    killed, seed = 0, random.randrange(1 << 32)
    chance = random.Random(seed)
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, ACT) as (stdin, stdout):
        for _ in range(TRIES):
            preview = await imports.start_import(services, alice.id, file)
            await services.imports.confirm(alice.id, preview.id)
            killed += await run_and_die(proxy, stdin, stdout, b"1", chance.randrange(IMPORT_REPLIES))
            proxy.drop_replies_after(NEVER)  # also if the process ended before
            await finish_jobs(services)
            done = await services.exports.find(alice.id, preview.id, "import")
            assert (done.state, done.counts["posts"], done.counts["standing"]) == ("done", 30, 0), seed
            posts = await imports.read_profile_posts(services, "alice")
            assert len(posts) == len({post.created_ms for post in posts}) == 30, seed
            assert len(posts[-1].extra.media) == 1
            await services.imports.undo(alice.id, done.id)
            killed += await run_and_die(proxy, stdin, stdout, b"1", chance.randrange(IMPORT_REPLIES))
            proxy.drop_replies_after(NEVER)  # also if the process ended before
            await finish_jobs(services)
            assert (await services.exports.find(alice.id, preview.id, "import")).state == "undone", seed
            assert await imports.read_profile_posts(services, "alice") == [], seed
            await services.exports.delete(alice.id, done)
    assert killed > TRIES / 2, seed
    later = Services(services.store, services.clock, services.config).media_deletion
    now_ms = services.clock.now_ms() + 3 * 86_400_000
    later.clock = type("Later", (), {"now_ms": staticmethod(lambda: now_ms)})()
    while await later.check_due():
        pass
    # Temporary files of killed processes are deleted after a day (tests/contract/media/test_media.py).
    assert [name for name in await pictures() if not name.startswith("incoming/")] == []


async def test_an_export_that_dies_at_any_step_is_written_again(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    alice = await world.person("alice")
    for number in range(3):
        await alice.publishes(f"Post {number}")
    before = imports.comparable(await imports.export_account(services, alice.id))
    killed = 0
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, ACT) as (stdin, stdout):
        for replies in range(2, EXPORT_REPLIES, 4):
            export = await services.exports.request(alice.id, imports.BASE_URL, "en")
            killed += await run_and_die(proxy, stdin, stdout, b"1", replies)
            proxy.drop_replies_after(NEVER)  # also if the process ended before
            await finish_jobs(services)
            archive = imports.read_export(alice.id, await services.exports.find(alice.id, export.id, "export"))
            assert imports.comparable(archive) == before
    assert killed > 3


def reset_peak() -> None:
    """Set VmHWM of this process to its present memory."""
    Path("/proc/self/clear_refs").write_text("5")


def read_memory_kb(name: str) -> int:
    """Return a value of this process: VmRSS (now) or VmHWM (the most since reset_peak)."""
    return int(Path("/proc/self/status").read_text().partition(f"{name}:")[2].split()[0])


@pytest.mark.nightly
async def test_72567_posts_are_exported_deleted_and_imported_in_minutes(redis_url: str, tmp_path: Path) -> None:
    faulthandler.cancel_dump_traceback_later()  # it takes longer than other tests may
    config = replace(ServiceConfig(), post_max_length=2_000)
    rows = imports.write_rows(tmp_path / "rows", ({**row, "author": "alice"} for row in read_posts("ubuntu-irc")))
    command = [sys.executable, "manage.py", "import_posts", str(rows), "--max-length", "2000", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "REDIS_URL": redis_url}, check=True)
    async with open_services(redis_url, config) as services:
        world = World(services)
        alice, again = await services.accounts.get_by_handle("alice"), await world.person("again")
        reset_peak()
        former_kb, began = read_memory_kb("VmRSS"), time.monotonic()
        before = await imports.export_account(services, AccountId(alice.id))
        exported = time.monotonic()
        await services.accounts.delete(account_id=AccountId(alice.id))
        await world.deliver_all()
        deleted = time.monotonic()
        done = await imports.import_file(services, again.id, before)
        assert (done.state, done.counts["posts"], done.refused) == ("done", POSTS, {})
        imported, more_kb = time.monotonic(), read_memory_kb("VmHWM") - former_kb
        spans = {"export": exported - began, "deletion": deleted - exported, "import": imported - deleted}
        print(*(f"{name} {seconds:.0f} s" for name, seconds in spans.items()), f"{more_kb / 1024:.0f} MB", sep=", ")
        assert exported - began + imported - deleted < 900
        assert more_kb < 300 << 10
        repeated = await imports.import_file(services, again.id, before)
        assert (repeated.counts["posts"], repeated.counts["standing"]) == (0, POSTS)
        after = await imports.export_account(services, again.id)
        assert len(imports.read_json(after, "outbox.json")["orderedItems"]) == POSTS
        (items, parents), (items_before, parents_before) = imports.comparable(after), imports.comparable(before)
        assert json.dumps(items).replace("@again", "@alice") == json.dumps(items_before)
        assert parents == parents_before
