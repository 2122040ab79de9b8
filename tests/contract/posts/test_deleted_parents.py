"""Replies to a post that is deleted meanwhile: the thread includes the tombstone."""

from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from tests.support.topologies import Deployment
from timelines import keys

FIRST, SECOND, THIRD = PostId(4096), PostId(8192), PostId(12288)


async def test_a_deleted_parent_is_stored_as_gone(services: Services) -> None:
    threads, store = services.repositories.threads, services.store
    await store.execute_all([("SET", keys.post(SECOND), f"deleted:7:{FIRST}")])
    await threads.add_reply(SECOND, THIRD)
    assert (await store.execute_all([("ZRANGE", keys.deleted_replies(FIRST), 0, -1)])) == [[str(SECOND).encode()]]
    assert await threads.has_replies(SECOND)
    assert await threads.find_parents([SECOND, THIRD]) == {SECOND: FIRST}


async def test_an_existing_parent_and_a_first_post_are_not_gone(services: Services, deployment: Deployment) -> None:
    threads, store = services.repositories.threads, services.store
    author = await services.accounts.sign_up(handle="alice", password=None, now_ms=services.clock.now_ms())
    post = await services.publishing.publish(
        author_id=AccountId(author.id), text="hello", now_ms=services.clock.now_ms()
    )
    await threads.add_reply(post.id, THIRD)
    await store.execute_all([("SET", keys.post(SECOND), "deleted:7")])
    await threads.add_reply(SECOND, THIRD)
    assert not [key for key in deployment.all_keys() if key.endswith(":gone")]
    assert await threads.find_parents([post.id, SECOND]) == {post.id: None}
