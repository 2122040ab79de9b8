"""The lock, and periodic tasks, which one process runs at a time."""

import asyncio

import pytest
import redis

from socialsite.migration.store_factory import open_store
from socialsite.recipes.lock import Lock, LockLost, LockNotAcquired, fence_key, lock_key
from socialsite.recipes.periodic_tasks import PeriodicTask, PeriodicTasks, claim_key
from socialsite.store import Store, StoreUrls
from tests.support.stalls import StallMonitor
from tests.support.topologies import Deployment

NAME = "flush"


@pytest.fixture
def lock(store: Store) -> Lock:
    return Lock(store, NAME, ttl_ms=5_000)


async def test_a_held_lock_refuses_other_owners_immediately(store: Store, lock: Lock) -> None:
    async with lock.hold():
        with pytest.raises(LockNotAcquired):
            await Lock(store, NAME).acquire()
    await (await Lock(store, NAME).acquire()).release()


async def test_one_of_many_concurrent_callers_acquires_the_lock(redis_urls: StoreUrls) -> None:
    stores = [await open_store(redis_urls) for _ in range(16)]
    results = await asyncio.gather(*(Lock(each, NAME).acquire() for each in stores), return_exceptions=True)
    assert sum(isinstance(each, LockNotAcquired) for each in results) == 15
    for each in stores:
        await each.close()


async def test_a_waiting_caller_acquires_the_released_lock(store: Store, lock: Lock) -> None:
    lease = await lock.acquire()
    waiting = asyncio.create_task(Lock(store, NAME).acquire(wait_s=20))
    await asyncio.sleep(0.15)
    assert not waiting.done()
    await lease.release()
    assert (await asyncio.wait_for(waiting, 15)).fence == lease.fence + 1  # before its deadline


async def test_waiting_for_a_lock_has_a_deadline(store: Store, lock: Lock) -> None:
    started = asyncio.get_running_loop().time()
    async with lock.hold():
        with pytest.raises(LockNotAcquired):
            await Lock(store, NAME).acquire(wait_s=0.3)
    assert asyncio.get_running_loop().time() - started < 5  # and not for the lifetime of the lock


async def test_every_lock_has_a_ttl(store: Store, lock: Lock) -> None:
    await lock.acquire()
    assert 0 < await store.node(lock_key(NAME)).execute("PTTL", lock_key(NAME)) <= 5_000


async def test_the_lock_of_another_owner_is_not_released(store: Store) -> None:
    late = await Lock(store, NAME, ttl_ms=30).acquire()
    await asyncio.sleep(0.05)
    lease = await Lock(store, NAME).acquire()
    assert not await late.release()
    assert not await late.renew()
    assert await lease.renew()
    assert await lease.release()


async def test_fencing_numbers_increase_with_each_owner(store: Store) -> None:
    fences = []
    for _ in range(3):
        fences.append((await Lock(store, NAME, ttl_ms=20).acquire()).fence)
        await asyncio.sleep(0.04)
    assert fences == sorted(set(fences))
    assert await store.node(fence_key(NAME)).execute("PTTL", fence_key(NAME)) == -1


async def test_a_block_longer_than_the_ttl_keeps_its_lock(store: Store) -> None:
    async with Lock(store, NAME, ttl_ms=2_400).hold():  # a machine that is paused for 1.6 s keeps the lock
        await asyncio.sleep(3)
        with pytest.raises(LockNotAcquired):
            await Lock(store, NAME).acquire()


async def test_the_first_renewal_after_a_lost_lock_cancels_the_block(store: Store) -> None:
    async def work() -> None:
        async with Lock(store, NAME, ttl_ms=3_000).hold(timeout_s=60):
            await store.node(lock_key(NAME)).execute("SET", lock_key(NAME), "somebody else")
            await asyncio.sleep(5)

    started = asyncio.get_running_loop().time()
    with StallMonitor() as stalls, pytest.raises(LockLost):
        await work()
    assert asyncio.get_running_loop().time() - started < 2.5 + stalls.total_s  # its TTL is 3 s
    assert await store.node(lock_key(NAME)).execute("GET", lock_key(NAME)) == b"somebody else"


async def test_a_block_has_a_deadline(store: Store) -> None:
    with pytest.raises(LockLost):
        async with Lock(store, NAME, ttl_ms=150).hold(timeout_s=0.3):
            await asyncio.sleep(5)
    await Lock(store, NAME).acquire()


async def test_a_failing_block_releases_its_lock(store: Store, lock: Lock) -> None:
    with pytest.raises(KeyError):
        async with lock.hold():
            raise KeyError
    await Lock(store, NAME).acquire()


async def test_the_name_is_a_fixed_word(store: Store) -> None:
    with pytest.raises(ValueError, match="lower-case"):
        Lock(store, "a:b")


async def test_a_timeout_inside_the_block_is_raised_unchanged(store: Store, lock: Lock) -> None:
    with pytest.raises(TimeoutError) as raised:
        async with lock.hold():
            raise TimeoutError("of the block")
    assert type(raised.value) is TimeoutError
    await Lock(store, NAME).acquire()


async def test_a_lease_has_the_time_of_its_expiry(store: Store, lock: Lock) -> None:
    now = asyncio.get_running_loop().time
    before = now()
    lease = await lock.acquire()
    assert before + 5 <= lease.expires_at <= now() + 5
    before = now()
    assert await lease.renew()
    assert before + 5 <= lease.expires_at <= now() + 5


async def test_a_waiting_caller_retries_a_few_times_within_its_deadline(store: Store, deployment: Deployment) -> None:
    await Lock(store, NAME, ttl_ms=60_000).acquire()  # and no owner renews it meanwhile
    with deployment.holding(lock_key(NAME)) as client:
        before = tries(client)
        with pytest.raises(LockNotAcquired):
            await Lock(store, NAME).acquire(wait_s=0.5)
        assert 2 <= tries(client) - before <= 13  # at most one in half of RETRY_S, and two renewals of the lease
        before = tries(client)
        with pytest.raises(LockNotAcquired):
            await Lock(store, NAME).acquire()
        assert tries(client) - before in (1, 2)


def tries(client: redis.Redis) -> int:
    """Return the total number of EVALSHA calls: tries to acquire a lock, and renewals of the process's lease."""
    return int(client.info("commandstats")["cmdstat_evalsha"]["calls"])


async def test_a_periodic_task_runs_once_per_interval(redis_urls: StoreUrls) -> None:
    done = 0

    async def work() -> None:
        nonlocal done
        done += 1

    stores = [await open_store(redis_urls) for _ in range(5)]
    turn = PeriodicTask("flush", 60, work)
    assert sum([await PeriodicTasks(each, []).run_if_due(turn) for each in stores]) == 1
    node = stores[0].node(claim_key("flush"))
    assert 0 < await node.execute("PTTL", claim_key("flush")) <= 60_000
    await node.execute("PEXPIRE", claim_key("flush"), 1)
    await asyncio.sleep(0.02)  # the interval is over
    await asyncio.gather(*(PeriodicTasks(each, []).run_if_due(turn) for each in stores))
    assert done == 2
    for each in stores:
        await each.close()


async def test_periodic_tasks_continue_after_an_error(store: Store) -> None:
    done, thrice = [], asyncio.Event()

    async def work() -> None:
        done.append(1)
        if len(done) == 1:
            raise KeyError("a defect")
        if len(done) == 3:
            thrice.set()

    schedule = PeriodicTasks(store, [PeriodicTask("flush", 0.05, work)])
    schedule.start()
    await asyncio.wait_for(thrice.wait(), 20)
    await schedule.close()


async def test_a_running_periodic_task_is_not_started_by_another_worker(store: Store) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await may_end.wait()

    turn = PeriodicTask("flush", 0.001, work)
    first = asyncio.create_task(PeriodicTasks(store, []).run_if_due(turn))
    await begun.wait()
    assert await PeriodicTasks(store, []).run_if_due(turn) is False
    may_end.set()
    assert await first is True


async def test_closing_periodic_tasks_ends_the_running_task(store: Store) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    schedule = PeriodicTasks(store, [PeriodicTask("flush", 0.01, work)])
    schedule.start()
    await asyncio.wait_for(begun.wait(), 20)
    await schedule.close()
    assert ended.is_set()


async def test_two_tries_are_nearly_an_interval_apart(store: Store) -> None:
    began = asyncio.get_running_loop().time()
    thrice, done = asyncio.Event(), []

    async def work() -> None:
        done.append(asyncio.get_running_loop().time() - began)
        await store.node(claim_key("flush")).execute("DEL", claim_key("flush"))
        if len(done) == 3:
            thrice.set()

    schedule = PeriodicTasks(store, [PeriodicTask("flush", 0.05, work)])
    schedule.start()
    await asyncio.wait_for(thrice.wait(), 20)
    await schedule.close()
    assert all(at >= 0.045 * tries for tries, at in enumerate(done, 1))


def test_the_delay_is_at_least_nine_tenths_of_the_interval() -> None:
    turn = PeriodicTask("flush", 60, asyncio.Event().wait)
    pauses = [turn.next_delay_s() for _ in range(200)]
    assert 54 <= min(pauses) < 55
    assert 59 < max(pauses) <= 60
