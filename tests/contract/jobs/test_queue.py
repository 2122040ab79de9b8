"""The job queue: order, answers, and what it refuses."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
import redis

from socialsite.migration.store_factory import open_store
from socialsite.recipes.job import Job
from socialsite.recipes.job_queue import CONSUMER_GROUP, JobQueue
from socialsite.recipes.job_worker import Worker
from socialsite.recipes.process_identity import process_identity
from socialsite.store import CommandRefused, Key, Store, StoreUnavailable
from socialsite.store.key import KEY_PATTERN
from tests.support.jobs import ALICE, BOB, FAST_RETRY_POLICY, take_one, take_payloads
from tests.support.nodes import run_command
from tests.support.random_tests import mostly_nightly
from tests.support.redis_server import RedisServer
from tests.support.stores import opened_store
from tests.support.topologies import Deployment
from tests.support.waiting import eventually


async def test_jobs_are_fetched_in_their_order(queue: JobQueue) -> None:
    for payload in (b"one", b"two", b"three"):
        await queue.add(payload)
    assert await take_payloads(queue) == [b"one", b"two", b"three"]


async def test_a_job_added_in_a_pipeline_is_fetched(queue: JobQueue, store: Store) -> None:
    await store.execute_all([queue.add_command(b"\x00\xff")])
    assert await take_payloads(queue) == [b"\x00\xff"]


async def test_a_job_is_fetched_by_one_worker(queue: JobQueue) -> None:
    await queue.add(b"one")
    assert await take_payloads(queue, ALICE) == [b"one"]
    assert await take_payloads(queue, BOB) == []


async def test_fetch_waits_for_the_first_job(queue: JobQueue) -> None:
    taking = asyncio.create_task(queue.fetch(ALICE, 5, 20_000))
    await asyncio.sleep(0.05)
    await queue.add(b"late")
    assert [job.payload for job in await asyncio.wait_for(taking, 15)] == [b"late"]


async def test_preparing_twice_changes_nothing(queue: JobQueue) -> None:
    await queue.add(b"one")
    await queue.create_group()
    await queue.create_group()
    assert await take_payloads(queue) == [b"one"]


async def test_jobs_older_than_the_group_are_fetched(store: Store) -> None:
    queue = JobQueue(store)
    await queue.add(b"early")
    assert await take_payloads(queue) == [b"early"]


async def test_the_group_is_created_again_after_the_server_was_emptied(queue: JobQueue, deployment: Deployment) -> None:
    await queue.add(b"lost")
    job = await take_one(queue, ALICE)
    deployment.empty()
    assert not await queue.finish(job)
    assert await queue.reclaim(BOB) == []
    await queue.add(b"new")
    assert await take_payloads(queue) == [b"new"]


async def test_a_finished_job_leaves_no_entry(queue: JobQueue) -> None:
    await queue.add(b"one")
    assert await queue.finish(await take_one(queue, ALICE))
    depth = await queue.read_depth()
    assert depth.is_empty
    assert (depth.waiting, depth.pending, depth.dead, depth.oldest_ms) == (0, 0, 0, 0)


async def test_finishing_adds_the_jobs_that_follow(queue: JobQueue) -> None:
    await queue.add(b"pass 1")
    await queue.finish(await take_one(queue, ALICE), [b"pass 2", b"lists"])
    assert await take_payloads(queue) == [b"pass 2", b"lists"]


async def test_finishing_twice_adds_the_following_jobs_once(queue: JobQueue) -> None:
    await queue.add(b"pass 1")
    job = await take_one(queue, ALICE)
    assert await queue.finish(job, [b"pass 2"])
    assert not await queue.finish(job, [b"pass 2"])
    assert await take_payloads(queue) == [b"pass 2"]


async def test_following_jobs_and_the_end_of_a_job_are_one_step(queue: JobQueue, store: Store) -> None:
    """A concurrent reader always sees a chain of exactly one job."""
    await queue.add(b"pass 0")
    lengths: set[int] = set()

    async def look() -> None:
        while True:
            owed, _ = await store.node(queue.stream_key).transaction(
                [("XLEN", queue.stream_key), ("XPENDING", queue.stream_key, CONSUMER_GROUP)]
            )
            lengths.add(owed)

    looking = asyncio.create_task(look())
    for number in range(200):
        await queue.finish(await take_one(queue, ALICE), [b"pass %d" % (number + 1)])
    looking.cancel()
    assert lengths == {1}


async def test_following_jobs_are_added_while_memory_is_full(queue: JobQueue, deployment: Deployment) -> None:
    await queue.add(b"pass 1")
    job = await take_one(queue, ALICE)
    with deployment.configured("maxmemory", 1, usual=0):
        await queue.send_heartbeat(ALICE)
        await queue.create_group()
        assert await queue.finish(job, [b"pass 2"])
        assert await take_payloads(queue) == [b"pass 2"]


async def test_a_failed_job_is_tried_again_by_its_worker(queue: JobQueue) -> None:
    await queue.add(b"one")
    job = await take_one(queue, ALICE)
    assert await queue.fail(job, "no") == 500
    assert (await queue.renew_claim(ALICE, job)) == Job(job.id, b"one", 2)


async def test_an_uncounted_try_does_not_change_the_number_of_tries(queue: JobQueue) -> None:
    await queue.add(b"one")
    job = await take_one(queue, ALICE)
    assert await queue.renew_claim(ALICE, job, count_try=False) == job
    await queue.deregister(ALICE)
    assert [adopted.tries for adopted in await queue.reclaim(BOB)] == [2]


async def test_a_finished_job_is_not_tried_again(queue: JobQueue) -> None:
    await queue.add(b"one")
    job = await take_one(queue, ALICE)
    await queue.finish(job)
    assert await queue.renew_claim(ALICE, job) is None


async def test_the_depth_distinguishes_waiting_and_pending_jobs(queue: JobQueue) -> None:
    for number in range(5):
        await queue.add(b"%d" % number)
    await queue.fetch(ALICE, 2, 1)
    await asyncio.sleep(0.02)
    depth = await queue.read_depth()
    assert (depth.waiting, depth.pending, depth.dead) == (3, 2, 0)
    assert 20 <= depth.oldest_ms < 5_000


async def test_an_entry_that_is_no_job_has_an_empty_payload(queue: JobQueue, deployment: Deployment) -> None:
    with deployment.holding(queue.stream_key) as client:
        client.xadd(queue.stream_key, {"other": "thing"})
    assert await take_payloads(queue) == [b""]


async def test_queues_do_not_share_their_jobs(queue: JobQueue, store: Store) -> None:
    second_queue = JobQueue(store, "imports")
    await second_queue.create_group()
    await second_queue.add(b"import")
    assert await take_payloads(queue) == []


async def test_all_keys_follow_the_grammar_under_one_tag(queue: JobQueue) -> None:
    keys = [queue.stream_key, queue.dead_letters_key, queue.heartbeat_key(ALICE)]
    assert {key.tag for key in keys} == {"outbox"}
    assert all(KEY_PATTERN.fullmatch(key) for key in keys)


async def test_a_key_of_another_type_is_not_replaced_by_a_queue(store: Store) -> None:
    queue = JobQueue(store)
    await store.node(queue.stream_key).execute("SET", queue.stream_key, "no stream")
    with pytest.raises(CommandRefused, match="WRONGTYPE"):
        await queue.create_group()


HOUR_MS = 3_600_000


def mark_of_the_dead() -> str:
    """Return the identity of a process of this machine that has ended."""
    place, _, process = process_identity().partition(" ")
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    return f"{place} {ended.pid} {process.rpartition(' ')[2]}"


async def test_a_job_is_known_by_the_id_it_was_added_with(store: Store, queue: JobQueue) -> None:
    added = [await queue.add(b"one"), await queue.add_when_full(b"two")]
    assert [row[0].decode() for row in await run_command(store, "XRANGE", queue.stream_key, "-", "+")] == added
    assert await queue.fetch(ALICE, 9, 1) == [Job(added[0], b"one", 1), Job(added[1], b"two", 1)]


async def test_an_empty_queue_returns_no_jobs(queue: JobQueue) -> None:
    assert await queue.fetch(ALICE, 9, 0) == await queue.reclaim(ALICE) == await queue.read_payloads(9) == []
    assert (await queue.read_depth()).oldest_ms == 0


async def test_tries_may_follow_each_other_within_a_millisecond(queue: JobQueue) -> None:
    await queue.add(b"one")
    job = await take_one(queue, ALICE)
    renewed = await asyncio.gather(*(queue.renew_claim(ALICE, job) for _ in range(50)))
    assert renewed == [Job(job.id, b"one", 2)] * 50


async def test_the_age_of_the_oldest_job_is_exact_to_the_millisecond(store: Store, queue: JobQueue) -> None:
    added_ms = await store.now_ms() - HOUR_MS
    for at_ms in (added_ms, added_ms + 1):
        await run_command(store, "XADD", queue.stream_key, f"{at_ms}-0", "payload", "old")
    for _ in range(3):
        earliest = await store.now_ms() - added_ms
        oldest_ms = (await queue.read_depth()).oldest_ms
        assert earliest - 1 <= oldest_ms <= await store.now_ms() - added_ms + 1
        await asyncio.sleep(0.11)  # to another fraction of the second


async def test_a_clock_that_went_back_makes_no_job_younger_than_new(store: Store, queue: JobQueue) -> None:
    await run_command(store, "XADD", queue.stream_key, f"{await store.now_ms() + HOUR_MS}-0", "payload", "new")
    assert (await queue.read_depth()).oldest_ms == 0


@pytest.mark.parametrize("most", [1, 999, 1000, 1001, 1500, 2000, 2300, 2500, 2501])
async def test_the_number_of_payloads_read_is_limited(store: Store, queue: JobQueue, most: int) -> None:
    owed = [b"%d" % number for number in range(2500)]
    await store.node(queue.stream_key).execute_all([queue.add_command(payload) for payload in owed])
    assert await queue.read_payloads(most) == owed[:most]


async def test_jobs_of_a_killed_worker_on_this_machine_are_reclaimed_before_its_heartbeat_expires(
    store: Store, queue: JobQueue
) -> None:
    await queue.add(b"one")
    await take_one(queue, ALICE)
    assert await queue.reclaim(BOB) == []
    await run_command(store, "SET", queue.heartbeat_key(ALICE), mark_of_the_dead(), "PX", 60_000)
    assert [(job.payload, job.tries) for job in await queue.reclaim(BOB)] == [(b"one", 2)]
    assert await run_command(store, "EXISTS", queue.heartbeat_key(ALICE)) == 0


async def test_a_consumer_with_a_foreign_name_is_not_considered_dead(store: Store, queue: JobQueue) -> None:
    await queue.add(b"one")
    await run_command(store, "XREADGROUP", "GROUP", CONSUMER_GROUP, "an operator", "STREAMS", queue.stream_key, ">")
    assert await queue.reclaim(BOB) == []
    consumers = await run_command(store, "XINFO", "CONSUMERS", queue.stream_key, CONSUMER_GROUP)
    assert [row[1] for row in consumers] == [b"an operator"]


async def test_deregistering_returns_the_number_of_pending_jobs(store: Store, queue: JobQueue) -> None:
    await store.node(queue.stream_key).execute_all([queue.add_command(b"%d" % number) for number in range(3)])
    await queue.fetch(ALICE, 3, 1)
    assert await queue.deregister(ALICE) == 3
    assert await queue.deregister(BOB) == 0


TRIES = 6  # more than a failing job has


@contextmanager
def refusing(url: str, command: str) -> Iterator[redis.Redis]:
    """Refuse this command to all users, as for a user without permission."""
    with redis.Redis.from_url(url) as client:
        client.execute_command("ACL", "SETUSER", "default", f"-{command}")
        try:
            yield client
        finally:
            client.execute_command("ACL", "SETUSER", "default", f"+{command}")


@pytest.fixture
async def plain(redis_url: str) -> AsyncIterator[Store]:
    async with opened_store(redis_url) as opened:
        yield opened


async def test_a_user_without_permission_to_read_the_group_creates_none(plain: Store, redis_url: str) -> None:
    queue = JobQueue(plain)
    with refusing(redis_url, "xpending") as client:
        with pytest.raises(CommandRefused, match="NOPERM"):
            await queue.create_group()
        assert client.keys("jobs:*") == []


async def test_a_refused_group_creation_is_an_error(plain: Store, redis_url: str) -> None:
    with refusing(redis_url, "xgroup"), pytest.raises(CommandRefused, match="NOPERM"):
        await JobQueue(plain).create_group()


async def test_the_group_is_created_only_if_it_is_missing(plain: Store, redis_url: str) -> None:
    queue = JobQueue(plain)
    with refusing(redis_url, "xreadgroup") as client:
        with pytest.raises(CommandRefused, match="NOPERM"):
            await queue.fetch(ALICE, 1, 1)
        assert client.keys("jobs:*") == []
    assert await queue.fetch(ALICE, 1, 1) == []
    with redis.Redis.from_url(redis_url) as client:
        assert [group["name"] for group in client.xinfo_groups(queue.stream_key)] == [CONSUMER_GROUP.encode()]


async def test_fetching_from_a_paused_server_ends_with_its_deadline(own_server: RedisServer) -> None:
    store = await open_store(own_server.url)
    queue = JobQueue(store)
    try:
        await queue.create_group()
        store.node(queue.stream_key)._reply_timeout_s = 0.5
        assert await queue.fetch(ALICE, 1, 1_500) == []  # longer than any reply may take
        os.kill(own_server.pid, signal.SIGSTOP)
        with pytest.raises(StoreUnavailable):
            await asyncio.wait_for(queue.fetch(ALICE, 1, 200), 30)
    finally:
        os.kill(own_server.pid, signal.SIGCONT)
        await store.close()


@pytest.mark.parametrize("command", mostly_nightly(["incr", "xreadgroup", "xpending", "evalsha"], 2))
async def test_a_worker_waits_for_a_missing_right_and_gives_no_job_up(
    plain: Store, redis_url: str, command: str
) -> None:
    """The right of a job's own command, of fetching, of finishing in a script, and of scripts as such."""
    queue, key = JobQueue(plain, retry_policy=FAST_RETRY_POLICY), Key("jobs", tag="outbox", name="performed")

    async def perform(payload: bytes) -> tuple[bytes, ...]:
        await plain.node(key).execute("INCR", key)
        return ()

    worker = Worker(queue, perform)
    async with asyncio.TaskGroup() as tasks:
        with refusing(redis_url, command) as client:
            client.acl_log_reset()
            await plain.node(key).execute_all([queue.add_command(b"job")])
            tasks.create_task(worker.run())
            await eventually(lambda: any(int(row["count"]) > TRIES for row in client.acl_log()), 20)
        await eventually(lambda: client.get(key), 20)
        worker.stop()
    assert (await queue.read_depth()).dead == 0
