"""Author timelines in partitions (PROFILE_PARTITIONS) give the same pages as undivided feeds."""

from collections.abc import AsyncIterator

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.service_config import ServiceConfig
from socialsite.startup import WrongPartitions, open_services
from socialsite.store import Store, StoreUrls
from tests.support.topologies import Deployment
from tests.support.world import World, ids_of
from timelines import keys
from timelines.audit import Audit
from timelines.author_timelines.repository import AuthorTimelineRepository

PARTS = 4
ALICE = AccountId(7)
ABOVE_ALL = 2**53


@pytest.fixture
async def services(redis_urls: StoreUrls) -> AsyncIterator[Services]:
    async with open_services(redis_urls, ServiceConfig(profile_partitions=PARTS, home_cap=20)) as opened:
        yield opened


@pytest.mark.parametrize("upward", [False, True])
@pytest.mark.parametrize("number", [2, PARTS])
async def test_partitions_are_read_as_one_feed(store: Store, number: int, upward: bool) -> None:
    parts, whole = AuthorTimelineRepository(store, 1000, number), AuthorTimelineRepository(store, 1000)
    for id in range(1, 200, 3):
        await parts.add(ALICE, PostId(id))
        await whole.add(ALICE, PostId(id))
    for edge in (0, 1, 50, 51, 52, 199, ABOVE_ALL):
        for limit in (1, 5, 30, 100):
            expected = await whole.read(ALICE, edge, limit, upward=upward)
            assert await parts.read(ALICE, edge, limit, upward=upward) == expected
            for profile in (parts, whole):
                assert await store.read(profile.read(ALICE, edge, limit, upward=upward)) == [expected]
    assert await parts.count(ALICE) == await whole.count(ALICE)
    await parts.remove(ALICE, PostId(100))
    assert PostId(100) not in await parts.read(ALICE, ABOVE_ALL, 100, upward=False)


async def test_the_newest_posts_are_kept_in_any_distribution(store: Store) -> None:
    parts = AuthorTimelineRepository(store, 10, PARTS)
    for id in range(1, 101):
        await parts.add(ALICE, PostId(id))
    assert (await parts.read(ALICE, ABOVE_ALL, 10, upward=False)) == list(range(100, 90, -1))
    assert await parts.count(ALICE) <= PARTS * 10


async def test_partitions_have_different_tags(services: Services, deployment: Deployment) -> None:
    alice = await World(services).person("alice")
    for n in range(20):
        await alice.publishes(f"post {n}")
    timeline_keys = deployment.all_keys("timelines:*:profile:*")
    assert set(timeline_keys) <= set(keys.AuthorTimelineKeys(PARTS).timeline_keys(alice.id))
    assert len(timeline_keys) >= 3
    assert {keys.author_timeline_owner(keys.Key.parse(key)) for key in timeline_keys} == {alice.id}


async def test_home_pages_reach_the_oldest_post_and_a_deleted_account_leaves_no_feed(
    services: Services, deployment: Deployment, world: World
) -> None:
    alice, bob = await world.people("alice", "bob")
    await bob.follows(alice)
    posts = [await alice.publishes(f"post {n}") for n in range(50)]
    await world.deliver_all()
    seen = await bob.home_ids(limit=30)
    seen += await bob.home_ids(limit=30, before=seen[-1])
    assert seen == ids_of(posts[::-1])
    await alice.deletes(posts[10])
    assert posts[10].id not in await alice.profile_ids(limit=100)
    assert not (await Audit(services.audit_context, second_check_after_s=0.1).run()).damage
    await services.accounts.delete(account_id=alice.id)
    await world.deliver_all()
    assert deployment.all_keys("timelines:*:profile:*") == []


async def test_another_number_of_partitions_is_refused(services: Services, redis_urls: StoreUrls) -> None:
    with pytest.raises(WrongPartitions, match="PROFILE_PARTITIONS=4, but the setting is 1"):
        async with open_services(redis_urls, ServiceConfig()):
            pass
