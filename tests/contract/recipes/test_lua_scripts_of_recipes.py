"""Return values of the recipes' Lua scripts, as documented in their first lines, and effects at their caps.

Services reduce most of these values to "done" or "not done"; these tests check the exact values.
"""

import pytest

from socialsite.recipes.buffer import (
    ADD,
    APPLY,
    BATCH_LEASE_MS,
    Buffers,
    Change,
    Entity,
    batch_key,
    take_command,
    taken_key,
)
from socialsite.recipes.buffer import FINISH as FINISH_BATCH
from socialsite.recipes.job_queue import DEAD_LETTER, FINISH, HEARTBEAT, RETRY, JobQueue
from socialsite.recipes.lock import ACQUIRE, fence_key, lock_key
from socialsite.recipes.rate_limit import HIT, MINUTE_MS, REFUND, Identifier, RateLimiter, Rule
from socialsite.recipes.time_series import COUNT, DISTINCT, DISTINCT_COUNT, RANK, TOP
from socialsite.store import Key, Store
from tests.support.nodes import run_command, run_script

A_DAY_ON = 4_000_000_000
"""The expiry of these keys in Unix seconds, in the far future."""
ZSET, HASH, SKETCH = (Key("series", tag="things", name=f"{word}:60:60") for word in ("ranked", "t", "distinct"))
COUNTERS = [Key("limits", tag="42", name=f"{rule}:1") for rule in ("post", "follow", "login")]


async def test_a_refund_lowers_positive_counters_and_returns_their_number(store: Store) -> None:
    await run_command(store, "SET", COUNTERS[0], 1)
    await run_command(store, "SET", COUNTERS[1], 5)
    assert await run_script(store, REFUND, COUNTERS) == 2
    assert [await run_command(store, "GET", key) for key in COUNTERS] == [b"0", b"4", None]
    assert await run_script(store, REFUND, COUNTERS) == 1


@pytest.mark.parametrize(
    ("current", "previous", "elapsed", "answer"),
    [
        (0, 0, 0, [1, b"post", 4, 5]),
        (4, 0, 59_999, [1, b"post", 0, 5]),
        (3, 1, 0, [1, b"post", 0, 5]),
        (4, 1, 0, [0, b"post", 60_000, 5]),
        (4, 5, 0, [0, b"post", 60_000, 5]),
        (1, 8, 10_000, [0, b"post", 27_500, 5]),
        (5, 0, 20_000, [0, b"post", 52_000, 5]),
    ],
)
async def test_a_limit_of_five_returns_exact_values(
    store: Store, current: int, previous: int, elapsed: int, answer: list[object]
) -> None:
    place = [Key("limits", tag="42", name=f"post:{number}") for number in (2, 1)]
    for key, count in zip(place, (current, previous), strict=True):
        await run_command(store, "SET", key, count)
    assert await run_script(store, HIT, place, elapsed, "post", 5) == answer
    assert await run_command(store, "GET", place[0]) == str(current + answer[0]).encode()


async def test_of_two_rules_with_equal_waits_the_first_is_named(store: Store) -> None:
    place = [Key("limits", tag="42", name=f"{name}:{at}") for name in ("post", "follow") for at in (2, 1)]
    for key in place[::2]:
        await run_command(store, "SET", key, 5)
    assert await run_script(store, HIT, place, 0, "post", 5, "follow", 5) == [0, b"post", 72_000, 5]
    assert await run_script(store, HIT, place, 0, "post", 0, "follow", 5) == [0, b"follow", 72_000, 5]
    assert await run_script(store, HIT, place, 0, "post", 0, "follow", 0) == [1, b"", 0, 0]


async def test_the_only_hit_of_a_minute_expires_with_the_next_minute(store: Store) -> None:
    limits, rule, subject = RateLimiter(store), Rule("post", 1), Identifier.account(42)
    start = 29_000_000 * MINUTE_MS
    assert (await limits.hit(subject, [rule], start)).granted
    verdict = await limits.hit(subject, [rule], start + MINUTE_MS + 20_000)
    assert (verdict.granted, verdict.retry_after_s) == (False, 40)
    assert (await limits.hit(subject, [rule], start + 2 * MINUTE_MS)).granted


async def test_acquiring_an_own_lock_again_returns_the_same_fencing_number(store: Store) -> None:
    place = [lock_key("flush"), fence_key("flush")]
    assert await run_script(store, ACQUIRE, place, "mine", 10_000) == 1
    assert await run_script(store, ACQUIRE, place, "theirs", 10_000) == 0
    assert await run_script(store, ACQUIRE, place, "mine", 10_000) == 1


async def test_a_buffer_adds_counts_and_keeps_the_latest_marks(store: Store) -> None:
    place = [Key("series", tag="b1", name=name) for name in ("buffer:post:7", "pending", "batches")]
    changes = (2, "views", 1, "likes", 5), ("seen", 100, "x", "left", 70, "y")
    assert await run_script(store, ADD, place, 5_000, "post:7", *changes[0], *changes[1]) == 1
    changes = (2, "views", 2, "likes", 1), ("seen", 99, "old", "left", 70, "z")
    assert await run_script(store, ADD, place, 6_000, "post:7", *changes[0], *changes[1]) == 0
    marks = await run_command(store, "HGETALL", place[0])
    assert dict(zip(marks[::2], marks[1::2], strict=True)) == {
        b"id": b"5000", b"+views": b"3", b"+likes": b"6", b"=seen": b"100 x", b"=left": b"70 z",
    }  # fmt: skip
    assert await run_command(store, "ZRANGE", place[1], 0, -1, "WITHSCORES") == [b"post:7", b"5000"]
    await run_command(store, "DEL", place[0])
    assert await run_script(store, ADD, place, 4_000, "post:7", 0) == 1
    assert await run_command(store, "HGETALL", place[0]) == [b"id", b"5001"]


async def test_a_batch_is_finished_once(store: Store) -> None:
    entity = Entity("post", 7)
    await Buffers(store).add({entity: Change({"views": 1})}, 5_000)
    key, place = batch_key(entity), [batch_key(entity), taken_key(entity.tag)]
    await store.execute_all([take_command(entity, 5_000)])
    number = int(await run_command(store, "HGET", key, "id"))
    assert await run_script(store, FINISH_BATCH, place, entity.name, number + 1) == 0
    assert await run_command(store, "EXISTS", key) == 1
    assert await run_script(store, FINISH_BATCH, place, entity.name, number) == 1
    assert [await run_command(store, "EXISTS", each) for each in place] == [0, 0]
    assert await run_script(store, FINISH_BATCH, place, entity.name, number) == 0


async def test_taking_handles_an_empty_buffer_and_a_lost_batch(store: Store) -> None:
    entity = Entity("post", 7)
    (nothing,) = await store.execute_all([take_command(entity, 5_000)])
    assert nothing == []
    assert await run_command(store, "EXISTS", taken_key(entity.tag)) == 0
    await Buffers(store).add({entity: Change({"views": 1})}, 5_000)
    await run_command(store, "ZADD", taken_key(entity.tag), 0, entity.name)  # taken long ago, and its batch is deleted
    (found,) = await store.execute_all([take_command(entity, BATCH_LEASE_MS)])
    assert b"+views" in found
    assert await run_command(store, "ZSCORE", taken_key(entity.tag), entity.name) == str(BATCH_LEASE_MS).encode()
    (leased,) = await store.execute_all([take_command(entity, 2 * BATCH_LEASE_MS - 1)])
    assert leased == []
    (again,) = await store.execute_all([take_command(entity, 2 * BATCH_LEASE_MS)])
    assert again == found


async def test_a_batch_is_applied_once_and_older_batches_are_ignored(store: Store) -> None:
    place = [Key("accounts", tag="7", name="totals")]
    assert await run_script(store, APPLY, place, 5, 1, "views", 2, "seen", 100, "x") == 1
    assert await run_script(store, APPLY, place, 5, 1, "views", 2) == 0
    assert await run_script(store, APPLY, place, 4, 1, "views", 2) == 0
    assert await run_script(store, APPLY, place, 6, 2, "views", 1, "likes", 3, "seen", 99, "old", "left", 7, "y") == 1
    totals = await run_command(store, "HGETALL", place[0])
    assert dict(zip(totals[::2], totals[1::2], strict=True)) == {
        b"batch": b"6", b"+views": b"3", b"+likes": b"3", b"=seen": b"100 x", b"=left": b"7 y",
    }  # fmt: skip
    assert await run_script(store, APPLY, place, 7, 0, "seen", 100, "again", "left", 8, "z") == 1
    assert await run_command(store, "HMGET", place[0], "=seen", "=left") == [b"100 again", b"8 z"]


async def test_adding_distinct_members_returns_whether_the_estimate_changed(store: Store) -> None:
    assert await run_script(store, DISTINCT, [SKETCH], A_DAY_ON, 1) == 1
    assert await run_script(store, DISTINCT, [SKETCH], A_DAY_ON, 1) == 0
    assert await run_script(store, DISTINCT, [SKETCH], A_DAY_ON, 1, 2) == 1
    assert await run_script(store, DISTINCT_COUNT, [SKETCH]) == 2


async def test_a_ranking_is_cut_to_its_cap_above_twice_the_cap(store: Store) -> None:
    pairs = [part for member in range(1, 7) for part in (f"m{member}", member)]
    assert await run_script(store, RANK, [ZSET], A_DAY_ON, 3, *pairs) == 6
    assert await run_script(store, RANK, [ZSET], A_DAY_ON, 3, "m7", 7) == 3
    assert await run_command(store, "ZRANGE", ZSET, 0, -1) == [b"m5", b"m6", b"m7"]
    assert await run_script(store, RANK, [ZSET], A_DAY_ON, 3, "m5", 5) == 3
    assert await run_script(store, TOP, [ZSET], 2) == [b"m5", b"10", b"m7", b"7"]
    assert await run_script(store, TOP, [ZSET], 9) == [b"m5", b"10", b"m7", b"7", b"m6", b"6"]


async def test_new_members_of_one_call_fill_the_hash_one_by_one(store: Store) -> None:
    assert await run_script(store, COUNT, [HASH], A_DAY_ON, 2, "a", 1, "b", 2, "c", 3, "a", 4, "d", 5) == 3
    counts = await run_command(store, "HGETALL", HASH)
    assert dict(zip(counts[::2], counts[1::2], strict=True)) == {b"a": b"5", b"b": b"2", b"other": b"8"}


async def test_members_beyond_a_full_hash_share_the_member_other(store: Store) -> None:
    assert await run_script(store, COUNT, [HASH], A_DAY_ON, 2, "a", 1, "b", 1) == 2
    assert await run_script(store, COUNT, [HASH], A_DAY_ON, 2, "c", 5, "d", 1, "a", 1) == 3
    counts = await run_command(store, "HGETALL", HASH)
    assert dict(zip(counts[::2], counts[1::2], strict=True)) == {b"a": b"2", b"b": b"1", b"other": b"6"}


@pytest.mark.parametrize(("before", "left"), [([], 3), (["a"], 2), (["a", "b"], 1)])
async def test_members_of_a_hash_with_room_are_counted_by_name(store: Store, before: list[str], left: int) -> None:
    for member in before:
        await run_script(store, COUNT, [HASH], A_DAY_ON, 3, member, 1)
    for number in range(left):
        await run_script(store, COUNT, [HASH], A_DAY_ON, 3, f"new{number}", 1)
    assert await run_command(store, "HEXISTS", HASH, "other") == 0
    await run_script(store, COUNT, [HASH], A_DAY_ON, 3, "one", 1, "more", 1)
    assert await run_command(store, "HGET", HASH, "other") == b"2"


async def test_a_retried_dead_letter_becomes_its_original_job(store: Store) -> None:
    queue = JobQueue(store, "outbox")
    await queue.create_group()
    await queue.add(b"a job")
    (job,) = await queue.fetch("abad1dea", 1, 1)
    letters, stream = queue.dead_letters_key, queue.stream_key
    assert (
        await run_script(store, DEAD_LETTER, [stream, letters], "workers", job.id, b"a job", "no reason", 5, 100) == 1
    )
    assert (
        await run_script(store, DEAD_LETTER, [stream, letters], "workers", job.id, b"a job", "no reason", 5, 100) == 0
    )
    await queue.add(b"another")
    (other,) = await queue.fetch("abad1dea", 1, 1)
    keys = [stream, queue.unfinished_key, queue.waiting_senders_key, queue.waiting_jobs_key("")]
    assert await run_script(store, FINISH, keys, "workers", other.id, "", 1) == 1
    assert await run_script(store, FINISH, keys, "workers", other.id, "", 1, b"a doubled one") == 0
    ((letter, _),) = await run_command(store, "XRANGE", letters, "-", "+")
    assert await run_script(store, RETRY, [letters, stream], "1-1") == 0
    assert await run_script(store, RETRY, [letters, stream], letter) == 1
    assert await run_script(store, RETRY, [letters, stream], letter) == 0
    ((_, fields),) = await run_command(store, "XRANGE", stream, "-", "+")
    assert fields == [b"payload", b"a job"]


async def test_a_heartbeat_has_a_ttl_and_lists_its_worker(store: Store) -> None:
    stream = Key("jobs", tag="outbox", name="stream")
    place = [Key("jobs", tag="outbox", name="worker:abad1dea"), stream]
    args = ("a process", 5_000, "workers", "abad1dea")
    assert await run_script(store, HEARTBEAT, place, *args) == b"OK"  # there is no group yet
    assert await run_command(store, "GET", place[0]) == b"a process"
    assert 0 < await run_command(store, "PTTL", place[0]) <= 5_000
    await run_command(store, "XGROUP", "CREATE", stream, "workers", "0", "MKSTREAM")
    assert await run_script(store, HEARTBEAT, place, *args) == b"OK"
    (consumer,) = await run_command(store, "XINFO", "CONSUMERS", stream, "workers")
    assert b"abad1dea" in consumer
