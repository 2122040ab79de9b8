"""Periodic tasks of many processes: once per interval, one at a time, until the schedule is closed."""

import asyncio

from socialsite.migration.store_factory import open_store
from socialsite.recipes.periodic_tasks import PeriodicTask, PeriodicTasks, claim_key
from socialsite.store import Store, StoreUrls


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
