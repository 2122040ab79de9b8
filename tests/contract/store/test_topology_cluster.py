"""Redis Cluster below the repositories: moving slots and dying masters stay invisible to callers."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator

import pytest

from socialsite.clock import DAY_MS, FixedClock
from socialsite.ids import id_at
from socialsite.migration.store_factory import open_store
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import Key, Script, Store, StoreUnavailable
from socialsite.store.slots import slot_of_tag
from socialsite.store.topology.cluster import MIN_REFRESH_INTERVAL_S
from tests.support.cluster import RedisCluster
from tests.support.connections import assert_no_open_connections, cancel_at_every_step
from tests.support.nodes import SingleNodeTopology, numbered_key
from tests.support.replicas import is_replicated
from tests.support.stores import opened_store
from tests.support.waiting import eventually
from tests.support.world import World, ids_of
from timelines.cached_timelines.repository import CachedTimelines
from timelines.cached_timelines.spec import LATE_MS, TimelineCacheSpec
from timelines.keys import HOME_TIMELINE_KEY_PATTERN, home_timeline

COUNT = Script("count", "return redis.call('INCR', KEYS[1])")


@pytest.fixture
async def store(cluster: RedisCluster) -> AsyncIterator[Store]:
    cluster.flush()
    async with opened_store(cluster.url) as opened:
        yield opened


async def test_thousands_of_redirections_cause_one_read_of_the_slot_map(store: Store, cluster: RedisCluster) -> None:
    """This happens after a failover or a reshard, if a page or a pass uses the old master."""
    wrong, before = store.nodes[0], looks_at_the_map(cluster)
    await wrong.execute_all([("SET", numbered_key(n), n) for n in range(3_000)])
    assert await wrong.execute_all([("GET", numbered_key(n)) for n in range(3_000)]) == [
        b"%d" % n for n in range(3_000)
    ]
    assert before > 0
    assert looks_at_the_map(cluster) - before <= 2  # one read per pipeline


def looks_at_the_map(cluster: RedisCluster) -> int:
    """Return the total number of CLUSTER SLOTS calls on all masters."""
    stats = [master.client().info("commandstats") for master in cluster.masters]
    return sum(each["cmdstat_cluster|slots"]["calls"] for each in stats if "cmdstat_cluster|slots" in each)


@pytest.mark.parametrize(
    ("tag", "slot"), [("book:1", 759), ("book:2", 12948), ("book:3", 8885), ("book:4", 4690), ("book", 1337)]
)
async def test_slots_equal_those_of_the_server(store: Store, tag: str, slot: int) -> None:
    assert slot_of_tag(tag) == slot
    assert await store.nodes[0].execute("CLUSTER", "KEYSLOT", tag) == slot
    placed = Key("posts", tag="123", name="post")
    assert await store.nodes[0].execute("CLUSTER", "KEYSLOT", placed) == slot_of_tag("123")


async def test_a_gather_over_many_slots_keeps_its_order(store: Store) -> None:
    assert len(store.nodes) == 3
    await store.execute_all([("SET", numbered_key(n), n) for n in range(200)])
    assert await store.execute_all([("GET", numbered_key(n)) for n in range(200)]) == [b"%d" % n for n in range(200)]


async def test_a_moving_slot_is_followed_at_every_step(store: Store, cluster: RedisCluster) -> None:
    tag = "4242"
    keys = [Key("posts", tag=tag, name=f"part:{n}") for n in range(30)]
    await store.execute_all([("SET", one, n) for n, one in enumerate(keys)])
    slot = slot_of_tag(tag)
    source = next(m for m in cluster.masters if m.address == str(store.node(keys[0]).address))
    target = next(m for m in cluster.masters if m is not source)
    rounds = 0
    for _step in cluster.move_slot(slot, source, target):
        rounds += 1
        assert await store.execute_all([("GET", one) for one in keys]) == [b"%d" % n for n in range(30)]
        fresh = Key("posts", tag=tag, name=f"counter:{rounds}")
        assert await store.node(fresh).execute(*COUNT.command([fresh])) == 1
        assert await store.node(fresh).transaction([("INCR", fresh), ("INCR", fresh)]) == [2, 3]
    assert rounds > 3
    assert await store.execute_all([("GET", one) for one in keys]) == [b"%d" % n for n in range(30)]
    assert str(store.node(keys[0]).address) == target.address


class HurryingClock(FixedClock):
    """A clock that advances by `step_ms` with every read."""

    def __init__(self, now_ms: int, step_ms: int) -> None:
        super().__init__(now_ms)
        self._step_ms = step_ms

    def now_ms(self) -> int:
        self.advance(self._step_ms)
        return self.time_ms - self._step_ms


@pytest.mark.parametrize("step_ms", [0, LATE_MS + 1])
async def test_a_pass_reaches_moved_home_timelines_by_an_outdated_map(store: Store, step_ms: int) -> None:
    """All pushes are sent to one node; with a late reply only that node's home timelines are invalidated."""
    now_ms = 1_900_000_000_000
    old, new = id_at(now_ms - 500), id_at(now_ms)
    homes_of = {owner: home_timeline(owner) for owner in range(1, 31)}
    await store.execute_all([("RPUSH", home, old, "-0") for home in homes_of.values()])
    kind = TimelineCacheSpec(home_timeline, HOME_TIMELINE_KEY_PATTERN, 10, 30 * DAY_MS, read_ahead=15)
    one = SingleNodeTopology(store.nodes[0])
    await CachedTimelines(Store(one), HurryingClock(now_ms, step_ms), kind).push([*homes_of], new)
    timelines = await store.execute_all([("LRANGE", home, 0, -1) for home in homes_of.values()])
    everywhere = [b"%d" % new, b"%d" % old, b"-0"]
    for home, elements in zip(homes_of.values(), timelines, strict=True):
        is_there = store.node(home) is store.nodes[0]
        assert elements == ([] if is_there and step_ms else everywhere)
    assert 0 < sum(store.node(home) is store.nodes[0] for home in homes_of.values()) < len(homes_of)


async def test_a_site_works_on_a_cluster_and_scripts_declare_all_their_keys(cluster: RedisCluster) -> None:
    cluster.flush()
    async with open_services(cluster.url, ServiceConfig(posts_per_pass=3)) as services:
        world = World(services)
        author, *readers = await world.people("author", *(f"r{n}" for n in range(8)))
        for reader in readers:
            await reader.follows(author)
            await reader.home_ids()
        posts = [await author.publishes(f"post {n}") for n in range(5)]
        await world.deliver_all()
        for reader in readers:
            assert await reader.home_ids() == ids_of(posts[::-1])


async def test_a_dead_master_affects_only_its_slots_until_the_failover() -> None:
    cluster = RedisCluster(masters=3, replicas=1)
    try:
        cluster.start()
        store = await open_store(cluster.url)
        await store.execute_all([("SET", numbered_key(n), n) for n in range(60)])
        victim = cluster.masters[0]
        with victim.client() as client:
            await eventually(lambda: is_replicated(client), timeout_s=30)
        victim.signal(signal.SIGKILL)
        died = time.monotonic()
        answered, refused = await ask_all(store)
        assert answered
        assert refused
        while refused:
            assert time.monotonic() - died < 40, "no failover was found"
            await asyncio.sleep(0.2)
            answered, refused = await ask_all(store)
        assert answered == set(range(60))
        await store.close()
    finally:
        cluster.stop()


async def ask_all(store: Store) -> tuple[set[int], set[int]]:
    """Return which of the sixty keys are answered and which are refused, each read separately."""
    answered, refused = set(), set()
    for number in range(60):
        try:
            assert await store.node(numbered_key(number)).execute("GET", numbered_key(number)) == b"%d" % number
            answered.add(number)
        except StoreUnavailable:
            refused.add(number)
    return answered, refused


async def test_a_cluster_without_all_its_slots_is_refused_at_start() -> None:
    cluster = RedisCluster(masters=1)
    try:
        cluster.masters[0].start()
        with pytest.raises(StoreUnavailable, match="no master"):
            await open_store(cluster.url)
    finally:
        cluster.stop()


async def test_a_closed_cluster_opens_no_connection(cluster: RedisCluster) -> None:
    """A caller that waits during the close loses its master and searches for another."""
    empty = Key("jobs", tag="outbox", name="list")
    async with assert_no_open_connections(*(master.client for master in cluster.masters)):
        store = await open_store(cluster.url)
        waiting = asyncio.create_task(store.node(empty).blocking("BLPOP", empty, 30, timeout_s=30))
        await asyncio.sleep(0.2)
        await store.close()
        with pytest.raises(StoreUnavailable):
            await waiting
        await asyncio.sleep(3 * MIN_REFRESH_INTERVAL_S)


async def test_a_start_cancelled_at_any_step_leaves_no_connection(cluster: RedisCluster) -> None:
    async with assert_no_open_connections(*(master.client for master in cluster.masters)):
        await cancel_at_every_step(lambda: open_store(cluster.url))


@pytest.mark.parametrize("kind", ["unknown-endpoint", "hostname"])
async def test_a_cluster_whose_members_name_no_host_is_used_at_the_host_of_the_url(
    cluster: RedisCluster, kind: str
) -> None:
    set_endpoint_type(cluster, kind)
    try:
        if kind == "hostname":  # without cluster-announce-hostname the reply contains "?"
            with pytest.raises(StoreUnavailable, match="cluster-announce-hostname"):
                await open_store(cluster.url)
            return
        async with opened_store(cluster.url) as store:
            await store.write_all([("SET", numbered_key(number), number) for number in range(50)])
            assert {node.address.host for node in store.nodes} == {"127.0.0.1"}
    finally:
        set_endpoint_type(cluster, "ip")


def set_endpoint_type(cluster: RedisCluster, kind: str) -> None:
    for member in cluster.masters:
        with member.client() as client:
            client.config_set("cluster-preferred-endpoint-type", kind)
