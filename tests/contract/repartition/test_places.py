"""Moving the data of a site that serves: from where to where, whole or in parts, and what keeps its time."""

import pytest

from socialsite.migration import commands as operation
from socialsite.migration.progress import Step
from socialsite.store import Key, StoreUrls
from tests.support.cluster import RedisCluster
from tests.support.moving_town import Town, life_goes_on, names_at, town_at
from tests.support.redis_server import RedisServer
from tests.support.repartition import move, site_at
from tests.support.topologies import TOPOLOGIES


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
