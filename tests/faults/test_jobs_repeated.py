"""Every job is performed again, concurrently and in any order, without changing the stored data.

`REPEATED_ROUNDS=50` repeats more often; each round has its own order, from a printed seed.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Sequence
from typing import get_args

import pytest
import redis

from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.world import Person, World
from timelines.jobs import DeleteBoostsOfPost, Job, decode_job, encode_job

ROUNDS = int(os.environ.get("REPEATED_ROUNDS", "3"))
AT_ONCE = 4
PASSING = ("jobs:", "live:", "limits:", "series:", "map:")
"""Queues, presence, leases and event counters: a repeated job counts as a new event."""


async def worked(services: Services) -> list[bytes]:
    """Perform all pending jobs and the jobs that they add; return every payload."""
    performed: list[bytes] = []
    await services.outbox.create_group()
    while jobs := await services.outbox.fetch("abad1dea", 100, 1):
        for job in jobs:
            performed.append(job.payload)
            await services.outbox.finish(job, await services.fan_out.handle(job.payload))
    return performed


async def repeated(services: Services, payloads: Sequence[bytes], chance: random.Random) -> int:
    """Perform each payload twice, shuffled and concurrently, and the jobs that follow; return the number."""
    payloads_left, performed = [*payloads, *payloads], 0
    while payloads_left:
        chance.shuffle(payloads_left)
        together, payloads_left = payloads_left[:AT_ONCE], payloads_left[AT_ONCE:]
        for more in await asyncio.gather(*(services.fan_out.handle(payload) for payload in together)):
            payloads_left += more
        performed += len(together)
    return performed


def held(client: redis.Redis) -> dict[bytes, object]:
    """Return every value by key; a list as a set of entries, since a repeated delivery may store duplicates."""
    reads = {
        b"string": client.get,
        b"hash": client.hgetall,
        b"set": client.smembers,
        b"zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        b"list": lambda key: frozenset(client.lrange(key, 0, -1)),
        b"stream": client.xlen,
    }
    keys = [key for key in client.scan_iter(count=1000) if not key.decode().startswith(PASSING)]
    return {key: reads[client.type(key)](key) for key in keys}


async def pages(people: Sequence[Person], world: World) -> list[list[int]]:
    return [list(await one.home_ids()) for one in people] + [list(await world.public_ids())]


async def busy_town(world: World) -> list[Person]:
    """Posts, replies, boosts, hashtags and deletions: together they add jobs of all kinds but one."""
    services, now_ms = world.services, world.services.clock.now_ms()
    people = await world.people("ann", "ben", "cora", "dan", "eve")
    ann, ben, cora, *_ = people
    for one in people:
        for other in people:
            if one is not other:
                await one.follows(other)
        await one.home()
    list_ = await ann.makes_list(ben)
    await services.lists.read_timeline(list_.id, viewer_id=ann.id)
    first = await ben.publishes("first #one")
    await cora.publishes("@ben an answer", in_reply_to=first)
    await services.reactions.boost(account_id=cora.id, post_id=first.id, now_ms=now_ms)
    await ann.deletes(await ann.publishes("taken back #one"))
    await ben.edits(first, "first #two")
    gone = await ann.publishes("boosted, and then taken back")
    await services.reactions.boost(account_id=ben.id, post_id=gone.id, now_ms=now_ms)
    await services.repositories.posts.delete(gone.id, ann.id)  # by a process that dies before it deletes the boosts
    await services.outbox.add(encode_job(DeleteBoostsOfPost(gone.id)))
    return people


@pytest.fixture
async def services(redis_url: str) -> AsyncIterator[Services]:
    """Services with passes of three followers and one pass per job, so that a post takes several jobs."""
    async with open_services(StoreUrls(redis_url), ServiceConfig(posts_per_pass=1, time_slice_ms=0)) as opened:
        yield opened


async def test_jobs_performed_again_change_nothing(services: Services, redis_url: str) -> None:
    world, seed = World(services), random.randrange(1 << 32)
    people = await busy_town(world)
    payloads = await worked(services)
    await services.accounts.delete(account_id=people.pop().id)
    payloads += await worked(services)
    assert {type(decode_job(payload)) for payload in payloads} == set(get_args(Job))
    before = await pages(people, world)
    with redis.Redis.from_url(redis_url) as client:
        values_before = held(client)
        for number in range(ROUNDS):
            performed = await repeated(services, payloads, random.Random(seed + number))
            assert await pages(people, world) == before, f"seed {seed + number}"
            now = held(client)
            changed = {
                key: (values_before.get(key), now.get(key))
                for key in {*values_before, *now}
                if values_before.get(key) != now.get(key)
            }
            assert changed == {}, f"seed {seed + number}"
    print(f"{len(payloads)} jobs, {performed} performed a round, {len(values_before)} keys the same, {ROUNDS} rounds")
