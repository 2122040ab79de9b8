"""Syndication in passes over home and list timelines: each job may run several times and in any order."""

import random
import re

import pytest
import redis

from socialsite.container import Services
from socialsite.recipes.job import PermanentFailure
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.topologies import Deployment
from tests.support.world import World, ids_of
from timelines import keys
from timelines.fanout.service import MAX_PASSES
from timelines.ids import ListId
from timelines.jobs import PurgeAccount, encode_job


async def test_a_post_reaches_every_cached_home_once_over_many_passes(redis_urls: StoreUrls) -> None:
    async with open_services(redis_urls, ServiceConfig(posts_per_pass=1, time_slice_ms=0)) as services:
        world = World(services)
        author, *readers = await world.people("author", *(f"r{n}" for n in range(40)))
        for reader in readers:
            await reader.follows(author)
            assert await reader.home_ids() == []
        post = await author.publishes("hello")
        done = await world.deliver_all()
        assert done > len(readers) // MAX_PASSES  # passes run concurrently, more passes on more nodes
        for reader in readers:
            key = keys.home_timeline(reader.id)
            assert await services.store.node(key).execute("LRANGE", key, 0, -1) == [b"%d" % post.id, b"-0"]


async def test_a_worker_runs_as_many_passes_as_fit_into_its_time_slice(redis_urls: StoreUrls) -> None:
    async with open_services(redis_urls, ServiceConfig(posts_per_pass=1, time_slice_ms=60_000)) as services:
        world = World(services)
        author, *readers = await world.people("author", *(f"r{n}" for n in range(30)))
        for reader in readers:
            await reader.follows(author)
            assert await reader.home_ids() == []
        posts = [await author.publishes(f"post {n}") for n in range(2)]
        assert await world.deliver_all() == len(posts)
        for reader in readers:
            assert await reader.home_ids() == ids_of(posts[::-1])


async def test_jobs_performed_twice_and_in_any_order_have_the_same_effect(world: World, services: Services) -> None:
    author, reader = await world.people("author", "reader")
    await reader.follows(author)
    assert await reader.home_ids() == []
    posts = [await author.publishes(f"post {n}") for n in range(12)]
    await services.outbox.create_group()
    jobs = await services.outbox.fetch("abad1dea", 100, 1)
    for job in random.Random(5).sample(jobs * 2, 2 * len(jobs)):
        await services.fan_out.handle(job.payload)
    assert await reader.home_ids() == ids_of(posts[::-1])
    assert await reader.profile_ids() == []
    assert await services.reading.post_count(author.id) == len(posts)


async def test_a_home_without_a_reader_is_not_built(world: World, services: Services) -> None:
    author, reader = await world.people("author", "reader")
    await reader.follows(author)
    await author.publishes("hello")
    await world.deliver_all()
    key = keys.home_timeline(reader.id)
    assert await services.store.node(key).execute("EXISTS", key) == 0


async def test_a_list_timeline_is_built_complete_and_receives_new_posts(world: World, services: Services) -> None:
    owner, member, other = await world.people("owner", "member", "other")
    early = await member.publishes("before the list")
    await other.publishes("not on the list")
    made = await owner.makes_list(member, title="Friends")
    assert await list_ids(services, made.id) == [early.id]
    late = await member.publishes("after")
    await world.deliver_all()
    assert await list_ids(services, made.id) == [late.id, early.id]
    await services.lists.remove_member(owner_id=owner.id, list_id=made.id, account_id=member.id)
    assert await list_ids(services, made.id) == []


async def list_ids(services: Services, list_id: ListId) -> list[int]:
    page = await services.lists.read_timeline(list_id, viewer_id=None)
    return [entry.post.id for entry in page.entries]


async def test_suspended_authors_are_hidden_until_they_are_reinstated(world: World, services: Services) -> None:
    author, reader = await world.people("author", "reader")
    await reader.follows(author)
    post = await author.publishes("hello")
    await world.deliver_all()
    await services.accounts.suspend(account_id=author.id)
    assert await reader.home_ids() == await world.public_ids() == []
    await services.accounts.reinstate(account_id=author.id)
    assert await reader.home_ids() == await world.public_ids() == [post.id]


async def test_a_deleted_account_leaves_no_data(world: World, services: Services, deployment: Deployment) -> None:
    author, reader = await world.people("author", "reader")
    await reader.follows(author)
    await author.follows(reader)
    posts = [await author.publishes(f"post {n}") for n in range(3)]
    await author.makes_list(reader, title="Mine")
    await services.accounts.delete(account_id=author.id)
    assert await reader.home_ids() == []
    await world.deliver_all()
    assert (await services.following.counts(reader.id)).followers == 0
    assert (await services.following.counts(reader.id)).following == 0
    names_them = re.compile(rf"[:{{]{author.id}(?![\d:])")  # except the seconds and intervals of time series
    personal_keys = [key for key in deployment.all_keys() if names_them.search(key)]
    assert personal_keys == [keys.Key("accounts", tag=str(author.id), name="account")]
    for post in posts:
        assert await services.repositories.posts.find(post.id) is None


async def test_losing_every_cache_changes_no_page(world: World, services: Services) -> None:
    author, reader = await world.people("author", "reader")
    await reader.follows(author)
    posts = [await author.publishes(f"post {n}") for n in range(40)]
    await world.deliver_all()
    before = (await reader.home_ids(limit=100), await world.public_ids(limit=100))
    for key in (keys.home_timeline(reader.id), keys.home_timeline(author.id), keys.public_timeline()):
        await services.store.node(key).execute("DEL", key)
    await services.rebuilds.rebuild_public([author.id, reader.id])
    assert (await reader.home_ids(limit=100), await world.public_ids(limit=100)) == before
    assert before[0] == ids_of(posts[::-1])


async def test_rebuilt_caches_give_the_same_pages(world: World, services: Services) -> None:
    author, reader = await world.people("author", "reader")
    await reader.follows(author)
    await reader.home_ids()
    for n in range(10):
        await author.publishes(f"post {n}")
    await world.deliver_all()
    before = await reader.home_ids()
    assert await services.rebuilds.rebuild_cached([reader.id]) == 1
    assert await reader.home_ids() == before
    assert await services.rebuilds.rebuild(author.id) == 1


async def test_an_invalid_job_is_refused_immediately(services: Services) -> None:
    for payload in (b"", b"\xff", b"\x80", b"not a job"):
        with pytest.raises(PermanentFailure):
            await services.fan_out.handle(payload)


async def test_an_authors_own_home_contains_each_post_once(world: World, services: Services) -> None:
    author = await world.person("author")
    assert await author.home_ids() == []
    posts = [await author.publishes(f"post {n}") for n in range(3)]
    await world.deliver_all()
    key = keys.home_timeline(author.id)
    entries = await services.store.node(key).execute("LRANGE", key, 0, -1)
    assert entries == [*(b"%d" % post.id for post in reversed(posts)), b"-0"]


async def test_a_round_of_a_purge_shares_round_trips(redis_url: str) -> None:
    """The server reads the commands of many items at once: far fewer reads than items."""
    items = 30
    async with open_services(redis_url, ServiceConfig()) as services:
        alice, bob = await World(services).people("alice", "bob")
        for number in range(items):
            his = await bob.publishes(f"his {number}")
            await alice.publishes(f"hers {number}")
            await services.reactions.like(account_id=alice.id, post_id=his.id, now_ms=services.clock.now_ms())
            await alice.makes_list(bob)
        await services.accounts.complete_deletion(alice.id)
        with redis.Redis.from_url(redis_url) as client:
            reads_before = client.info("stats")["total_reads_processed"]
            assert await services.fan_out.handle(encode_job(PurgeAccount(alice.id)))
            assert client.info("stats")["total_reads_processed"] - reads_before < 3 * items
