"""The largest recent delivery lag, which replays allow for."""

from socialsite.ids import id_at
from socialsite.store import Store
from tests.support.topologies import Deployment
from tests.support.world import World
from timelines import keys
from timelines.live_updates.delivery_lag import HOUR_MS, REMEMBERED_HOURS, USUAL_MS, DeliveryLag

NOW_MS = 1_900_000_000_000


async def test_a_usual_lag_is_not_recorded(store: Store, deployment: Deployment) -> None:
    lag = DeliveryLag(store)
    await lag.note(id_at(NOW_MS - USUAL_MS), NOW_MS)
    assert await lag.worst_ms(NOW_MS) == USUAL_MS
    assert deployment.all_keys() == []


async def test_the_largest_lag_of_a_day_is_kept_for_a_day(store: Store) -> None:
    lag = DeliveryLag(store)
    for late_ms in (90_000, 600_000, 120_000):
        await lag.note(id_at(NOW_MS - late_ms), NOW_MS)
    assert await lag.worst_ms(NOW_MS + 20 * HOUR_MS) == 600_000
    assert await lag.worst_ms(NOW_MS + 26 * HOUR_MS) == USUAL_MS


async def test_a_lag_counts_until_the_same_hour_of_the_next_day(store: Store) -> None:
    lag, hour_ms = DeliveryLag(store), NOW_MS // HOUR_MS * HOUR_MS
    await lag.note(id_at(hour_ms - 90_000), hour_ms)
    assert await lag.worst_ms(hour_ms + 25 * HOUR_MS - 1) == 90_000
    assert await lag.worst_ms(hour_ms + 25 * HOUR_MS) == USUAL_MS


async def test_larger_lags_of_earlier_days_do_not_hide_todays_lag(store: Store) -> None:
    lag, key = DeliveryLag(store), keys.delivery_lag()
    for back in range(100, 24, -1):
        at_ms = NOW_MS - back * HOUR_MS
        await lag.note(id_at(at_ms - 1_000_000 - back), at_ms)
    await lag.note(id_at(NOW_MS - 90_000), NOW_MS)
    assert await lag.worst_ms(NOW_MS) == 90_000
    assert await store.node(key).execute("ZCARD", key) <= REMEMBERED_HOURS + 1
    assert abs(await store.node(key).execute("TTL", key) - 25 * 3_600) <= 2


async def test_todays_lag_counts_after_a_larger_lag_expired(store: Store) -> None:
    """Only a new record removes expired lags; this test adds none."""
    lag = DeliveryLag(store)
    for hour, late_ms in ((0, 600_000), (9, 300_000), (10, 90_000)):
        at_ms = NOW_MS + hour * HOUR_MS
        await lag.note(id_at(at_ms - late_ms), at_ms)
    assert await lag.worst_ms(NOW_MS + 26 * HOUR_MS) == 300_000
    assert await lag.worst_ms(NOW_MS + 34 * HOUR_MS) == 90_000


async def test_the_next_record_removes_expired_lags(store: Store) -> None:
    lag, key = DeliveryLag(store), keys.delivery_lag()
    for hour in (0, 24, 49):  # the key expires 25 hours after each record
        at_ms = NOW_MS + hour * HOUR_MS
        await lag.note(id_at(at_ms - 90_000), at_ms)
    assert await store.node(key).execute("ZRANGE", key, 0, -1) == [b"%d" % (NOW_MS // HOUR_MS + 49)]


async def test_a_late_worker_records_its_lag_and_announces_the_entries(world: World) -> None:
    services = world.services
    author, reader = await world.people("author", "reader")
    await reader.follows(author)
    await author.publishes("hello")
    await world.deliver_all()
    assert await services.live.rewind_ms(services.clock.now_ms()) == USUAL_MS
