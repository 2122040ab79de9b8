"""Deleting posts everywhere and permanently, with repetition and after an interruption."""

import asyncio

import pytest

from socialsite.container import Services
from socialsite.ids import id_at
from tests.support.topologies import Deployment
from tests.support.world import Person, World
from timelines import keys
from timelines.errors import PostNotFound
from timelines.posts.repository import WriteResult
from timelines.posts.stored_values import PostState


async def test_a_deleted_post_is_gone_everywhere_and_no_job_restores_it(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    await bob.follows(alice)
    assert await bob.home_ids() == []
    post = await alice.publishes("hello")
    await alice.deletes(post)
    await world.deliver_all()
    for ids in (await bob.home_ids(), await alice.home_ids(), await alice.profile_ids(), await world.public_ids()):
        assert ids == []
    with pytest.raises(PostNotFound):
        await services.reading.post(post.id, viewer_id=bob.id)
    assert await services.reading.post_count(alice.id) == 0


async def test_a_second_deletion_changes_nothing(alice: Person, bob: Person, services: Services) -> None:
    post = await alice.publishes("hello")
    await asyncio.gather(*(alice.deletes(post) for _ in range(8)))
    await alice.deletes(post)
    with pytest.raises(PostNotFound):
        await bob.deletes(post)
    assert await services.repositories.posts.find_state(post.id) is PostState.DELETED


async def test_a_tombstone_without_an_author_remains(alice: Person, services: Services) -> None:
    post = await alice.publishes("hello", key="k")
    key, posts = keys.post(post.id), services.repositories.posts
    await services.store.node(key).execute("SET", key, "deleted")
    assert await posts.find_state(post.id) is PostState.DELETED
    assert await posts.write(post) is WriteResult.DELETED
    assert await posts.abandon_id(post.id) is WriteResult.DELETED
    assert await alice.profile_ids() == []
    with pytest.raises(PostNotFound):
        await alice.deletes(post)


async def test_an_account_cannot_delete_the_post_of_another_account(alice: Person, bob: Person) -> None:
    post = await alice.publishes("hello")
    with pytest.raises(PostNotFound):
        await bob.deletes(post)
    assert await alice.profile_ids() == [post.id]


async def test_a_post_can_be_deleted_while_memory_is_full(
    alice: Person, services: Services, deployment: Deployment
) -> None:
    post = await alice.publishes("hello")
    with deployment.configured("maxmemory", 1, usual=0):
        assert await services.repositories.posts.delete(post.id, alice.id)
        with pytest.raises(deployment.when_full):
            await services.repositories.posts.reserve_id(id_at(services.clock.now_ms(), 1))


async def test_repeating_a_deletion_finishes_an_interrupted_deletion(world: World, services: Services) -> None:
    """The tombstone still contains the parent of a deleted reply."""
    alice, bob = await world.people("alice", "bob")
    question = await alice.publishes("a question")
    answer = await bob.publishes("an answer", in_reply_to=question)
    await services.repositories.posts.delete(answer.id, bob.id)
    await bob.deletes(answer)
    assert (await services.reading.post(question.id, viewer_id=None)).counts.replies == 0
    assert await services.reading.post_count(bob.id) == 0


async def test_purging_removes_replies_of_an_interrupted_deletion(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    question = await alice.publishes("a question")
    answer = await bob.publishes("an answer", in_reply_to=question)
    await services.repositories.posts.delete(answer.id, bob.id)
    await services.accounts.delete(account_id=bob.id)
    await world.deliver_all()
    assert (await services.reading.post(question.id, viewer_id=None)).counts.replies == 0
