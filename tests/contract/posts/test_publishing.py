"""Publishing once per idempotency key; a deleted post stays deleted (docs/reference/architecture.md)."""

import asyncio
import hashlib
from collections.abc import Iterator
from typing import cast

import msgspec
import pytest

from socialsite.container import Services
from socialsite.errors import RateLimited
from socialsite.ids import AccountId, PostId, PostIdGenerator, id_at
from socialsite.limits import ActionLimits, Caller
from socialsite.maintenance.scanning import scan_store
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import Key, StoreFull, StoreUnavailable, StoreUrls
from tests.support.topologies import Deployment
from tests.support.world import Person, World, ids_of
from timelines import keys
from timelines.errors import IdempotencyConflict, PostInvalid, PostNotFound
from timelines.jobs import SyndicatePost, decode_job, encode_job
from timelines.posts.post import FOLLOWERS, PUBLIC, UNLISTED, Post, decode_post, encode_post
from timelines.posts.stored_values import PostState


async def jobs_of(services: Services) -> list[bytes]:
    await services.outbox.create_group()
    jobs = await services.outbox.fetch("abad1dea", 100, 1)
    for job in jobs:
        await services.outbox.finish(job)
    return [job.payload for job in jobs]


async def test_a_post_is_in_its_authors_timelines_before_the_response(world: World, alice: Person) -> None:
    assert await alice.home_ids() == []
    post = await alice.publishes("hello")
    assert await alice.home_ids() == await alice.profile_ids() == await world.public_ids() == [post.id]


async def test_the_job_contains_the_complete_post(alice: Person, services: Services) -> None:
    post = await alice.publishes("hello")
    (payload,) = await jobs_of(services)
    assert decode_job(payload) == SyndicatePost.from_post(post)


async def test_a_worker_of_an_older_release_keeps_the_fields_of_a_newer_release(
    world: World, services: Services
) -> None:
    class NewerPost(Post, frozen=True, array_like=True):
        mood: str = "glad"

    alice = await world.person("alice")
    newer = msgspec.msgpack.encode(NewerPost(services.ids.next_id(), alice.id, "hello"))
    post = decode_post(newer)
    assert encode_post(post) != newer
    await services.fan_out.handle(encode_job(SyndicatePost(msgspec.Raw(newer))))
    key = keys.post(post.id)
    assert await services.store.node(key).execute("GET", key) == newer
    assert await alice.profile_ids() == [post.id]


async def test_the_same_key_publishes_once(alice: Person) -> None:
    posts = await asyncio.gather(*(alice.publishes("hello", key="k1") for _ in range(20)))
    assert len({post.id for post in posts}) == 1
    assert await alice.profile_ids() == [posts[0].id]


async def test_idempotency_keys_are_separate_per_account(alice: Person, bob: Person) -> None:
    assert (await alice.publishes("hello", key="k")).id != (await bob.publishes("hello", key="k")).id


async def test_the_same_key_with_another_text_is_a_conflict(alice: Person) -> None:
    await alice.publishes("hello", key="k")
    with pytest.raises(IdempotencyConflict):
        await alice.publishes("hello!", key="k")


async def test_the_key_of_a_deleted_post_does_not_restore_it(alice: Person) -> None:
    post = await alice.publishes("hello", key="k")
    await alice.deletes(post)
    with pytest.raises(PostNotFound):
        await alice.publishes("hello", key="k")
    assert await alice.profile_ids() == []


async def agree_on_a_dead_id(services: Services, person: Person, text: str, key: str) -> Post:
    """Store the state after a crash in step two, more than a minute ago."""
    post_id = id_at(services.clock.now_ms() - 120_000, 7)
    digest = hashlib.sha256(f"None\n{text}".encode()).hexdigest()[:32]
    key_digest = hashlib.sha256(key.encode()).hexdigest()[:32]
    assert await services.repositories.posts.reserve_id(post_id)
    agreement = keys.idempotency_record(person.id, key_digest)
    await services.store.node(agreement).execute("SET", agreement, f"{post_id}:{digest}")
    return Post(post_id, person.id, text)


async def test_a_retry_after_a_minute_uses_a_new_id_and_abandons_the_old_id(world: World, services: Services) -> None:
    alice = await world.person("alice")
    dead = await agree_on_a_dead_id(services, alice, "hello", "k")
    posts = await asyncio.gather(*(alice.publishes("hello", key="k") for _ in range(10)))
    assert {post.id for post in posts} == {posts[0].id}
    assert posts[0].id > dead.id
    assert await services.repositories.posts.find_state(dead.id) is PostState.SUPERSEDED
    # The worker performs the job of the dead request: the tombstone stops it.
    await services.repositories.posts.write(dead)
    await world.deliver_all()
    assert await alice.profile_ids() == [posts[0].id]


async def test_a_retry_after_a_minute_keeps_an_existing_post(alice: Person, services: Services) -> None:
    dead = await agree_on_a_dead_id(services, alice, "hello", "k")
    await services.repositories.posts.write(dead)
    assert (await alice.publishes("hello", key="k")).id == dead.id
    assert await alice.profile_ids() == [dead.id]


@pytest.mark.parametrize("steps", range(4))
async def test_the_worker_finishes_an_interrupted_publication(world: World, services: Services, steps: int) -> None:
    """The job is stored; the process died before the post, its profile entry, or its home entry."""
    alice, bob = await world.people("alice", "bob")
    await bob.follows(alice)
    assert await bob.home_ids() == []
    post = await alice.publishes("hello")
    at = services.repositories
    if steps < 3:
        await at.homes.invalidate(alice.id)
    if steps < 2:
        await at.author_timelines.remove(alice.id, post.id)
        await at.public.remove(post.id)
    if steps < 1:
        key = keys.post(post.id)
        await services.store.node(key).execute("SET", key, "pending")
    await world.deliver_all()
    assert await alice.profile_ids() == await world.public_ids() == [post.id]
    assert await bob.home_ids() == await alice.home_ids() == [post.id]


async def test_deleted_replies_are_not_counted(alice: Person, bob: Person, services: Services) -> None:
    post = await alice.publishes("hello")
    replies = [await bob.publishes(f"reply {n}", in_reply_to=post) for n in range(3)]
    await bob.deletes(replies[1])
    assert (await services.reading.post(post.id, viewer_id=None)).counts.replies == 2
    listed = await services.threads.load_page(post, viewer_id=None)
    assert [reply.id for reply in listed.replies] == ids_of([replies[0], replies[2]])


async def test_a_reply_to_a_deleted_post_is_refused(alice: Person) -> None:
    gone = await alice.publishes("hello")
    await alice.deletes(gone)
    with pytest.raises(PostInvalid) as refused:
        await alice.publishes("reply", in_reply_to=gone)
    assert set(refused.value.fields) == {"in_reply_to"}


async def test_a_repeated_reply_to_a_deleted_post_is_returned(alice: Person, bob: Person) -> None:
    post = await alice.publishes("hello")
    reply = await bob.publishes("reply", in_reply_to=post, key="k")
    await alice.deletes(post)
    assert await bob.publishes("reply", in_reply_to=post, key="k") == reply
    with pytest.raises(IdempotencyConflict):
        await bob.publishes("another reply", in_reply_to=post, key="k")
    with pytest.raises(PostInvalid):
        await bob.publishes("reply", in_reply_to=post, key="another key")
    assert await bob.profile_ids() == [reply.id]


@pytest.mark.parametrize("text", ["", "  \n ", "x" * 501, "a\x00b", "\ud800", "\u200b"])
async def test_a_refused_text_stores_nothing(alice: Person, services: Services, text: str) -> None:
    with pytest.raises(PostInvalid) as refused:
        await alice.publishes(text)
    assert set(refused.value.fields) == {"text"}
    assert await jobs_of(services) == []
    assert await alice.profile_ids() == []


async def test_posts_are_refused_before_the_server_is_full(redis_urls: StoreUrls, deployment: Deployment) -> None:
    async with open_services(redis_urls, ServiceConfig(memory_reserve=50_000_000)) as services:
        alice = await World(services).person("alice")
        post = await alice.publishes("while there is room")
        with deployment.configured("maxmemory", 40_000_000, usual=0):
            await asyncio.sleep(1.1)
            with pytest.raises(StoreFull):
                await alice.publishes("too late")
            await alice.deletes(post)


async def test_a_post_above_the_profile_cap_keeps_its_page(redis_urls: StoreUrls) -> None:
    async with open_services(redis_urls, ServiceConfig(profile_cap=5, public_cap=3)) as services:
        world = World(services)
        alice = await world.person("alice")
        posts = [await alice.publishes(f"post {n}") for n in range(8)]
        assert await alice.profile_ids() == ids_of(posts[:2:-1])
        assert await world.public_ids() == ids_of(posts[:4:-1])
        assert (await services.reading.post(posts[0].id, viewer_id=None)).post == posts[0]


async def test_a_reply_is_by_default_no_wider_than_its_parent(alice: Person, bob: Person) -> None:
    await bob.follows(alice)
    public, unlisted, for_followers = [
        await alice.publishes("a", audience=each) for each in (PUBLIC, UNLISTED, FOLLOWERS)
    ]
    for parent in (public, unlisted, for_followers):
        assert (await bob.publishes("b", in_reply_to=parent)).audience == parent.audience
    await alice.locks()
    assert (await bob.publishes("c", in_reply_to=public)).audience == FOLLOWERS
    assert (await bob.publishes("d", in_reply_to=public, audience=PUBLIC)).audience == PUBLIC


@pytest.mark.parametrize("audience", [PUBLIC, UNLISTED, FOLLOWERS])
async def test_a_repeated_reply_keeps_its_first_audience_after_its_parent_was_deleted(
    alice: Person, bob: Person, services: Services, audience: int
) -> None:
    """The process dies after it claimed the key; the parent is deleted, then the client repeats the request."""
    await bob.follows(alice)
    parent = await alice.publishes("hello", audience=audience)
    outbox = services.publishing.post_writer.outbox
    services.publishing.post_writer.outbox = UnavailableOutbox()
    with pytest.raises(StoreUnavailable):
        await bob.publishes("reply", in_reply_to=parent, key="k")
    services.publishing.post_writer.outbox = outbox
    await alice.deletes(parent)
    assert (await bob.publishes("reply", in_reply_to=parent, key="k")).audience == audience


class UnavailableOutbox:
    async def add(self, payload: bytes, sender: int | None = None) -> object:
        raise StoreUnavailable


async def test_a_refused_post_leaves_neither_its_id_nor_its_idempotency_key(
    redis_urls: StoreUrls, deployment: Deployment
) -> None:
    async with open_services(redis_urls, ServiceConfig(rate_limits={"post": 1})) as services:
        alice, caller = await World(services).person("alice"), Caller(AccountId(1), "203.0.113.9")

        async def publish(key: str) -> Post:
            return await services.publishing.publish(
                author_id=alice.id, text="hello", idempotency_key=key, now_ms=services.clock.now_ms(), caller=caller
            )

        await publish("k1")
        before = await count_reservations(services)
        with pytest.raises(RateLimited):
            await publish("k2")
        assert await services.store.execute_all([("PTTL", record_key(alice, "k2"))]) < [1_001]
        services.publishing.limits = ActionLimits(services.limits, {}, services.clock)
        with deployment.configured("maxmemory", 1, usual=0), pytest.raises(deployment.when_full):
            await publish("k3")
        assert await count_reservations(services) == before
        assert (await publish("k2")).text == "hello"


def record_key(person: Person, key: str) -> Key:
    return keys.idempotency_record(person.id, hashlib.sha256(key.encode()).hexdigest()[:32])


async def count_reservations(services: Services) -> int:
    """Return the number of ids that are reserved and have no post."""
    scanned = [key async for some in scan_store(services.store) for key in some if key.endswith("}:post")]
    return (await services.store.execute_all([("GET", key) for key in scanned])).count(b"pending")


async def test_two_requests_that_choose_the_same_id_publish_two_posts(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    taken = await alice.publishes("hers")
    ids = iter([taken.id])
    generator = services.publishing.post_writer.ids
    services.publishing.post_writer.ids = cast(PostIdGenerator, RepeatedIds(ids, generator))
    his = await bob.publishes("his", key="k")
    assert his.id != taken.id
    assert (await bob.publishes("his", key="k")).id == his.id
    assert (await alice.profile_ids(), await bob.profile_ids()) == ([taken.id], [his.id])


async def test_a_retry_after_a_crash_that_left_a_foreign_id_publishes_a_post_of_its_own(
    alice: Person, bob: Person, services: Services
) -> None:
    """The process died after it claimed its key with an id that another request had just used."""
    taken = await alice.publishes("hers")
    key, digest = record_key(bob, "k"), hashlib.sha256(b"None\nhis").hexdigest()[:32]
    await services.store.node(key).execute("SET", key, f"{taken.id}:{digest}")
    his = await bob.publishes("his", key="k")
    assert (his.author_id, his.text) == (bob.id, "his")
    assert await alice.profile_ids() == [taken.id]


class RepeatedIds:
    """An id generator that first returns the given ids, as another process might."""

    def __init__(self, ids: Iterator[PostId], generator: PostIdGenerator) -> None:
        self._ids = ids
        self._generator = generator

    def next_id(self) -> PostId:
        return next(self._ids, None) or self._generator.next_id()
