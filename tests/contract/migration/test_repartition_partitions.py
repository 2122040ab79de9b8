"""Follow edges are repartitioned on a real server while accounts follow and unfollow."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from socialsite.container import Services
from socialsite.management.commands.repartition import FOLLOW_EDGES
from socialsite.migration import commands as operation
from socialsite.migration.errors import MigrationRefused
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUnavailable
from tests.support.active_site import read_whole_home
from tests.support.migrations import KILLED_EXIT_STATUS, migration_site, run_migration_killed_at
from tests.support.random_tests import mostly_nightly
from tests.support.redis_server import RedisServer
from tests.support.world import Person, World, ids_of
from timelines.graph.follow import FIRST_PASS
from timelines.posts.post import Post

GRACE_S = 0.2


@dataclass
class FollowTraffic:
    """Accounts of one process that follow and unfollow, and an author of another process who publishes."""

    services: Services
    author: Person
    people: list[Person]
    follows: set[tuple[int, int]] = field(default_factory=set)
    posts: list[Post] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    stopping: bool = False

    async def change(self, seed: int) -> None:
        chance = random.Random(seed)
        while not self.stopping:
            one, other = chance.sample(self.people, 2)
            pair = (one.id, other.id)
            try:
                if pair in self.follows:
                    await one.unfollows(other)
                    self.follows.discard(pair)
                else:
                    await one.follows(other)
                    self.follows.add(pair)
            except StoreUnavailable as error:
                self.refused.append(str(error))
            await asyncio.sleep(0.001)

    async def publish(self) -> None:
        while not self.stopping:
            self.posts.append(await self.author.publishes("to everybody"))
            await World(self.services).deliver_all()
            await asyncio.sleep(0.01)

    async def check(self, partitions: int, client) -> None:
        follows = set()
        for one in self.people:
            following = await self.services.repositories.follows.following_ids(one.id)
            follows |= {(one.id, other) for other in following if other != self.author.id}
            assert (await self.services.following.counts(one.id)).following == len(following)
        assert follows == self.follows
        tags = {name.split(b"{")[1].split(b"}")[0] for name in client.keys("follows:{p*}:*")}
        assert client.keys("follows:{q*}:*") == []
        assert max(int(tag[1:]) for tag in tags) < partitions
        await World(self.services).deliver_all()
        expected = sorted(ids_of(self.posts), reverse=True)
        for one in self.people:
            assert await read_whole_home(one) == expected


@pytest.fixture
async def crowd(redis_url: str) -> AsyncIterator[FollowTraffic]:
    # Few posts per pass cause many jobs, some with cursors of the old layout.
    config = ServiceConfig(posts_per_pass=3)
    async with open_services(redis_url, config) as web, open_services(redis_url, config) as worker:
        author = await World(worker).person("author")
        people = await World(web).people(*[f"p{number}" for number in range(12)])
        for one in people:
            await one.follows(author)
            await one.home_ids()
        yield FollowTraffic(worker, author, people)


@contextlib.asynccontextmanager
async def life_goes_on(crowd: FollowTraffic) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(crowd.change(1)), asyncio.create_task(crowd.publish())]
    await asyncio.sleep(0.2)
    try:
        yield
        await asyncio.sleep(0.2)
    finally:
        crowd.stopping = True
        await asyncio.gather(*tasks)


async def test_edges_are_repartitioned_into_more_and_into_fewer_partitions_while_people_follow(
    crowd: FollowTraffic, redis_url: str, redis_server: RedisServer
) -> None:
    async with life_goes_on(crowd):
        for count in (64, 16, 24):
            done = await operation.repartition_edges(migration_site(redis_url), FOLLOW_EDGES, count, grace_s=GRACE_S)
            assert done.edges["following"] >= len(crowd.people)
            assert redis_server.client().get("follows:{map}:partitions") == b"%d" % count
    assert not crowd.refused
    await crowd.check(24, redis_server.client())


async def test_a_later_process_uses_the_new_partition_count_whatever_its_setting(
    crowd: FollowTraffic, redis_url: str
) -> None:
    await crowd.people[0].follows(crowd.people[1])
    await operation.repartition_edges(migration_site(redis_url), FOLLOW_EDGES, 5, grace_s=0)
    for setting in (16, 5):
        async with open_services(redis_url, ServiceConfig(follow_partitions=setting)) as late:
            assert late.config.follow_partitions == 5
            assert await late.following.is_following(crowd.people[0].id, crowd.people[1].id)


async def test_a_fan_out_pass_that_began_before_a_repartition_starts_again(
    crowd: FollowTraffic, redis_url: str
) -> None:
    follows = crowd.services.repositories.follows
    first = await follows.followers_pass(crowd.author.id, FIRST_PASS, 4)
    await operation.repartition_edges(migration_site(redis_url), FOLLOW_EDGES, 5, grace_s=0)
    cursor, follower_ids = first.next, set(first.ids)
    assert cursor is not None
    for _ in range(12):
        page = await follows.followers_pass(crowd.author.id, cursor, 4)
        follower_ids |= set(page.ids)
        if page.next is None:
            break
        cursor = page.next
    assert follower_ids == {one.id for one in crowd.people}


async def test_a_writer_with_a_key_of_an_old_partition_writes_to_the_new_partition(
    crowd: FollowTraffic, redis_url: str
) -> None:
    """Writers that waited during the switch had computed their partition before it."""
    one, other = crowd.people[:2]
    stop = asyncio.Event()

    async def follow_and_unfollow() -> int:
        changes = 0
        while not stop.is_set():
            assert await one.follows(other)
            assert await one.unfollows(other)
            changes += 2
        return changes

    writing = asyncio.create_task(follow_and_unfollow())
    await operation.repartition_edges(migration_site(redis_url), FOLLOW_EDGES, 64, grace_s=GRACE_S)
    stop.set()
    assert await writing > 20


@pytest.mark.parametrize("phase", mostly_nightly(["turning", "copying", "waiting"], 1))
async def test_a_killed_repartition_can_be_repeated(
    crowd: FollowTraffic, redis_url: str, redis_server: RedisServer, phase: str
) -> None:
    async with life_goes_on(crowd):
        assert await asyncio.to_thread(run_migration_killed_at, phase, redis_url, "64", "reshape") == KILLED_EXIT_STATUS
        await operation.repartition_edges(migration_site(redis_url), FOLLOW_EDGES, 64, grace_s=GRACE_S)
    assert not crowd.refused
    await crowd.check(64, redis_server.client())


async def test_writes_after_the_switch_of_a_dying_migrator_survive_the_rollback(
    crowd: FollowTraffic, redis_url: str, redis_server: RedisServer
) -> None:
    """Writers wait for the new partitions; without a migrator the edges return to the old partitions."""
    first, *others = crowd.people
    assert await asyncio.to_thread(run_migration_killed_at, "turning", redis_url, "64", "reshape") == KILLED_EXIT_STATUS
    assert all(await asyncio.gather(*(one.follows(first) for one in others)))
    crowd.follows |= {(one.id, first.id) for one in others}
    await operation.repartition_edges(migration_site(redis_url), FOLLOW_EDGES, 64, grace_s=GRACE_S)
    await crowd.check(64, redis_server.client())


async def test_the_same_number_is_refused(crowd: FollowTraffic, redis_url: str) -> None:
    with pytest.raises(MigrationRefused, match="already"):
        await operation.repartition_edges(migration_site(redis_url), FOLLOW_EDGES, 16)


async def test_a_site_that_was_never_started_is_refused(redis_url: str) -> None:
    with pytest.raises(MigrationRefused, match="never started"):
        await operation.repartition_edges(migration_site(redis_url), FOLLOW_EDGES, 32)


async def test_edges_are_repartitioned_in_the_store_of_their_component(
    crowd: FollowTraffic, redis_url: str, redis_server: RedisServer
) -> None:
    with RedisServer() as server:
        await operation.migrate(migration_site(redis_url), server.url, "follows", slices=16)
        await operation.repartition_edges(migration_site(redis_url), FOLLOW_EDGES, 32, grace_s=0)
        await crowd.check(32, server.client())
        await operation.migrate(migration_site(redis_url), redis_url, "follows", slices=16)
        await crowd.check(32, redis_server.client())
