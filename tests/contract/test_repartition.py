"""Moving the data of a site that serves, on real servers."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from socialsite.configuration import Configuration
from socialsite.recipes.hub import Hub, Presence, process_channel
from socialsite.services import Services, open_services
from socialsite.store import Key, Store, StoreUnavailable, StoreUrls, open_store
from socialsite.store.moving import operation
from socialsite.store.moving.board import Board
from socialsite.store.moving.errors import MoveRefused
from socialsite.store.moving.places import Lock
from socialsite.store.moving.steps import Step
from socialsite.store.opening import topology_of
from tests.support.cluster import RedisCluster
from tests.support.redis_server import RedisServer
from tests.support.repartition import DIED, WriterProcess, move, mover_killed_at, site_at
from tests.support.topologies import TOPOLOGIES
from tests.support.world import Person, World, ids_of
from timelines.domain.post import Post


@pytest.fixture(scope="module")
def old_server() -> Iterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def new_server() -> Iterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def running_cluster() -> Iterator[RedisCluster]:
    cluster = RedisCluster().start()
    yield cluster
    cluster.stop()


@pytest.fixture
def old(old_server: RedisServer) -> str:
    old_server.client().flushall()
    return old_server.url


@pytest.fixture
def new(new_server: RedisServer) -> str:
    new_server.client().flushall()
    return new_server.url


@pytest.fixture
def cluster(running_cluster: RedisCluster) -> str:
    running_cluster.flush()
    return running_cluster.url


@dataclass
class Town:
    """A site of two processes (stores of their own), people who follow each other, what they published."""

    web: Services
    worker: Services
    people: list[Person]
    posts: list[Post] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    deleted: list[Post] = field(default_factory=list)
    stopping: bool = False

    async def busy(self) -> None:
        """Publish, delete, read and deliver until told to stop; notes whatever was acknowledged."""
        await asyncio.gather(self._publish(), self._deliver())

    async def _publish(self) -> None:
        number = 0
        while not self.stopping:
            number += 1
            author = self.people[number % len(self.people)]
            try:
                post = await author.publishes(f"number {number}")
                self.posts.append(post)
                await author.home_ids()
                if number % 5 == 0:
                    await author.deletes(post)
                    self.deleted.append(post)
            except StoreUnavailable as error:
                self.refused.append(str(error))
            await asyncio.sleep(0.002)

    async def _deliver(self) -> None:
        while not self.stopping:
            with contextlib.suppress(StoreUnavailable):
                await World(self.worker).work()
            await asyncio.sleep(0.01)

    async def check(self) -> None:
        """Every timeline has every post that stands, once, in order."""
        await World(self.worker).work()
        gone = set(ids_of(self.deleted))
        expected = sorted((id for id in ids_of(self.posts) if id not in gone), reverse=True)
        for person in self.people:
            home = await whole_home(person)
            if self.refused:  # what was not acknowledged may stand all the same
                home = [id for id in home if id in expected]
            assert home == expected


async def whole_home(person: Person) -> list[int]:
    found: list[int] = []
    while page := await person.home_ids(limit=100, **({"before": found[-1]} if found else {})):
        found += page
    return found


@contextlib.asynccontextmanager
async def town_at(urls: str | StoreUrls) -> AsyncIterator[Town]:
    async with open_services(urls, Configuration()) as web, open_services(urls, Configuration()) as worker:
        people = await World(web).people("ann", "bob", "cid", "dot")
        for one in people:
            for other in people:
                if one is not other:
                    await one.follows(other)
        for one in people:
            await one.home_ids()
        yield Town(web, worker, people)


@pytest_asyncio.fixture
async def town(old: str) -> AsyncIterator[Town]:
    async with town_at(old) as found:
        yield found


@contextlib.asynccontextmanager
async def life_goes_on(town: Town) -> AsyncIterator[None]:
    task = asyncio.create_task(town.busy())
    await asyncio.sleep(0.1)
    try:
        yield
        await asyncio.sleep(0.1)
    finally:
        town.stopping = True
        await task


def names_at(server: RedisServer) -> set[str]:
    """Keys of the site, without what the map itself keeps."""
    return {name.decode() for name in server.client().keys("*") if not name.startswith(b"map:")}


# Where to


async def test_a_site_moves_from_server_to_server_while_people_publish(
    town: Town, old: str, new: str, old_server: RedisServer
) -> None:
    async with life_goes_on(town):
        report = await move(old, new)
    assert report.tally.keys.total() > 50
    assert not report.strays
    assert not town.refused
    assert names_at(old_server) == set()
    await town.check()


async def test_a_site_moves_to_a_cluster_and_back(
    town: Town, old: str, cluster: str, old_server: RedisServer, running_cluster: RedisCluster
) -> None:
    async with life_goes_on(town):
        await move(old, cluster)
        assert names_at(old_server) == set()
        await move(old, old)
    assert not town.refused
    left = [key for master in running_cluster.masters for key in master.client().keys("*")]
    assert {key for key in left if not key.startswith("map:")} == set()
    await town.check()


async def test_one_component_moves_and_the_others_stay(
    town: Town, old: str, new: str, old_server: RedisServer, new_server: RedisServer
) -> None:
    async with life_goes_on(town):
        await move(old, new, "timelines")
    assert {name.split(":")[0] for name in names_at(new_server)} == {"timelines"}
    assert "timelines" not in {name.split(":")[0] for name in names_at(old_server)}
    await town.check()


async def test_a_component_comes_home_again(town: Town, old: str, new: str, new_server: RedisServer) -> None:
    await move(old, new, "timelines")
    await move(old, old, "timelines")
    assert names_at(new_server) == set()
    town.posts.append(await town.people[0].publishes("home again"))
    await town.check()


async def test_what_stands_elsewhere_moves_along(old: str, new: str, cluster: str) -> None:
    async with town_at(StoreUrls(old, {"timelines": new})) as town:
        async with life_goes_on(town):
            await operation.move(site_at(old, timelines=new), cluster, slices=16)
        await town.check()


async def test_keys_keep_their_time_to_live_and_streams_their_pending_jobs(
    town: Town, old: str, new: str, new_server: RedisServer
) -> None:
    outbox = town.worker.outbox
    await outbox.prepare()
    await town.web.outbox.add(b"first")
    await town.web.outbox.add(b"second")
    (taken,) = await outbox.take("abad1dea", 1, 10)
    key = Key("limits", tag="a1", name="post:1")
    await town.web.store.node(key).execute("SET", key, 7, "PX", 100_000)
    await move(old, new)
    assert 90_000 < new_server.client().pttl(key) <= 100_000
    assert (await outbox.depth()).pending == 1
    assert await outbox.finish(taken)
    assert [job.payload for job in await outbox.take("abad1dea", 5, 10)] == [b"second"]


# Who is told


async def test_who_comes_later_finds_the_data_by_the_old_url_and_by_the_new(
    town: Town, old: str, new: str
) -> None:
    town.posts.append(await town.people[0].publishes("before"))
    await World(town.worker).work()
    await move(old, new)
    for url in (old, new):
        async with open_services(url, Configuration()) as late:
            page = await late.reading.home(town.people[1].id)
            assert [entry.post.id for entry in page.entries] == ids_of(town.posts)


async def test_the_old_url_still_leads_there_after_the_way_back(town: Town, old: str, new: str) -> None:
    await move(old, new)
    await move(new, old)
    town.posts.append(await town.people[0].publishes("after"))
    await World(town.worker).work()
    for url in (old, new):
        async with open_services(url, Configuration()) as late:
            page = await late.reading.home(town.people[1].id)
            assert [entry.post.id for entry in page.entries] == ids_of(town.posts)


async def test_a_node_that_somebody_still_holds_leads_to_where_the_data_is(
    town: Town, old: str, new: str, old_server: RedisServer
) -> None:
    key = Key("accounts", tag="77", name="account")
    node = town.web.store.node(key)
    await move(old, new)
    await node.execute("HSET", key, "handle", "late")
    assert not old_server.client().exists(key)
    assert await town.worker.store.node(key).execute("HGET", key, "handle") == b"late"


async def test_a_process_that_stands_still_is_not_waited_for_and_cannot_write_to_the_old_store(
    town: Town, old: str, new: str, old_server: RedisServer
) -> None:
    """Its event loop does nothing while everything moves; its connections and its map are those of before."""
    key = Key("posts", tag="5", name="post")
    asleep = await open_store(old)
    await asleep.node(key).execute("SET", key, "before")
    await stand_still(asleep)
    await move(old, new)
    with pytest.raises(StoreUnavailable):
        await asleep.node(key).execute("SET", key, "by an old map")
    await asleep.close()
    assert not old_server.client().exists(key)
    assert await town.web.store.node(key).execute("GET", key) == b"before"


async def test_a_process_stopped_in_the_middle_of_writing_loses_nothing_when_it_goes_on(
    old: str, new: str, old_server: RedisServer, new_server: RedisServer, tmp_path: Path
) -> None:
    """SIGSTOP between a look at the map and the write, say: its connection is gone when it wakes."""
    writer = WriterProcess(old, tmp_path / "acknowledged")
    try:
        await reached(writer, 200)
        writer.signal(signal.SIGSTOP)
        await move(old, new)
        before = len(writer.acknowledged)
        writer.signal(signal.SIGCONT)
        await reached(writer, before + 200)
    finally:
        writer.stop()
    kept = new_server.client().mget([f"posts:{{{number}}}:post" for number in writer.acknowledged])
    assert None not in kept
    assert names_at(old_server) == set()


async def reached(writer: WriterProcess, count: int) -> None:
    async with asyncio.timeout(20):
        while len(writer.acknowledged) < count:  # noqa: ASYNC110 - another process writes
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("name", ["shards-ring", "sentinel"])
async def test_a_site_moves_from_and_to_other_topologies(old: str, name: str) -> None:
    with TOPOLOGIES[name]() as elsewhere:
        url = elsewhere.urls.default
        async with town_at(old) as town:
            async with life_goes_on(town):
                await move(old, url)
                await move(old, old)
            assert not town.refused
            await town.check()


async def test_answers_lost_while_the_data_moves_cost_a_pause_and_nothing_else(
    town: Town, old: str, new: str, old_server: RedisServer
) -> None:
    """What a broken connection had sent may still be carried out: the mover makes sure before it copies."""

    def on_step(step: Step) -> None:
        if step.name == "moved" and step.number in (3, 9):
            with old_server.client() as client:
                for each in client.client_list():
                    if each["name"].startswith("site-"):
                        client.client_kill_filter(_id=each["id"])

    async with life_goes_on(town):
        report = await move(old, new, on_step=on_step)
    assert not report.strays
    assert names_at(old_server) == set()
    await town.check()


async def stand_still(store: Store) -> None:
    """As if its process had been stopped: the lease is renewed no more."""
    assert store.keeper is not None
    keeping = store.keeper._keeping
    assert keeping is not None
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


async def test_a_process_that_woke_up_goes_on_where_the_data_is(town: Town, old: str, new: str) -> None:
    key = Key("posts", tag="5", name="post")
    asleep = await open_store(old)
    await asleep.node(key).execute("SET", key, "before")
    await stand_still(asleep)
    await move(old, new)
    keeper = asleep.keeper
    assert keeper is not None
    keeper._keeping = asyncio.create_task(keeper._keep())
    await eventually(lambda: asleep.node(key).execute("SET", key, "awake"))
    await asleep.close()
    assert await town.web.store.node(key).execute("GET", key) == b"awake"


async def eventually(call) -> None:
    for _ in range(100):
        try:
            await call()
        except StoreUnavailable:
            await asyncio.sleep(0.05)
        else:
            return
    raise AssertionError("it never came back")


async def test_the_hub_hears_at_the_new_store(town: Town, old: str, cluster: str) -> None:
    heard: list[bytes] = []
    gaps: list[int] = []

    async def on_message(payload: bytes) -> None:
        heard.append(payload)

    async def on_gap() -> None:
        gaps.append(1)

    hub = Hub(town.web.store, town.web.clock, on_message=on_message, on_lost=lambda: None, on_gap=on_gap)
    await hub.open()
    await hub.enter("7")
    await move(old, cluster)
    presence = Presence(town.worker.store, town.worker.clock)
    async with asyncio.timeout(5):
        while b"there" not in heard:
            await presence.tell({process_channel(hub.process): b"there"})
            await asyncio.sleep(0.05)
    assert gaps
    assert await presence.where(["7"]) == {hub.process: ["7"]}
    await hub.close()


# Interrupted


STEPS = ("begun", "frozen", "copied", "turned", "moved", "deleted", "swept", "handed over", "forwarded")


@pytest.mark.parametrize("step", STEPS)
async def test_a_mover_killed_at_any_step_is_gone_on_with(
    town: Town, old: str, new: str, old_server: RedisServer, step: str
) -> None:
    async with life_goes_on(town):
        assert await asyncio.to_thread(mover_killed_at, step, old, new) == DIED
        await operation.resume(site_at(old))
    assert not town.refused
    assert names_at(old_server) == set()
    await town.check()


@pytest.mark.parametrize("step", ["frozen", "turned", "deleted"])
async def test_what_an_interrupted_move_has_moved_is_brought_back(
    town: Town, old: str, new: str, new_server: RedisServer, step: str
) -> None:
    async with life_goes_on(town):
        assert await asyncio.to_thread(mover_killed_at, step, old, new) == DIED
        await operation.back(site_at(old))
    assert not town.refused
    assert names_at(new_server) == set()
    await town.check()


async def test_a_slice_whose_mover_died_is_given_back_in_time_for_its_writers(
    town: Town, old: str, new: str
) -> None:
    """Nobody has to come: the processes of the site thaw it themselves."""
    async with life_goes_on(town):
        assert await asyncio.to_thread(mover_killed_at, "frozen", old, new) == DIED
        await asyncio.sleep(4)
    assert not town.refused
    await town.check()


async def test_two_movers_never_work_at_once(town: Town, old: str, new: str) -> None:
    place = topology_of(old)
    lock = Lock(Board(place), "feed")
    await lock.take()
    with pytest.raises(MoveRefused, match="at work"):
        await move(old, new)
    await lock.release()
    await place.close()


# Refused


async def test_a_target_that_holds_data_already_is_refused(
    town: Town, old: str, new: str, new_server: RedisServer
) -> None:
    new_server.client().set("posts:{1}:post", "somebody's")
    with pytest.raises(MoveRefused, match="holds data"):
        await move(old, new)
    assert (await Board(topology_of(old)).read()).epoch == 0


async def test_a_store_is_not_moved_to_itself(town: Town, old: str) -> None:
    with pytest.raises(MoveRefused, match="stands there already"):
        await move(old, old.replace("?db=0", ""))


async def test_there_is_nothing_to_resume_where_nothing_moves(old: str) -> None:
    with pytest.raises(MoveRefused, match="no move is under way"):
        await operation.resume(site_at(old))
    with pytest.raises(MoveRefused, match="no move is under way"):
        await operation.back(site_at(old))


async def test_a_move_under_way_is_finished_before_another_begins(town: Town, old: str, new: str) -> None:
    assert await asyncio.to_thread(mover_killed_at, "begun", old, new) == DIED
    with pytest.raises(MoveRefused, match="--resume"):
        await move(old, new)


async def test_a_target_that_nobody_reaches_is_refused_before_anything_changes(town: Town, old: str) -> None:
    with pytest.raises(StoreUnavailable):
        await move(old, "redis://127.0.0.1:1/0")
    assert (await Board(topology_of(old)).read()).epoch == 0
