"""A late pass of a fan-out pushes no post that its reader may no longer see."""

from tests.support.sockets import open_socket, sign_in_cookie


async def test_a_reader_who_unfollowed_gets_no_late_push(daphne, world, services) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe("home")
        post = await bob.publishes("too late")
        await alice.unfollows(bob)
        await services.live.entry_delivered(post, [alice.id])
        assert await reader.collect_for() == []


async def test_a_deleted_post_is_not_pushed_by_a_late_pass(daphne, world, services) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe("home")
        post = await bob.publishes("withdrawn")
        await bob.deletes(post)
        await services.live.entry_delivered(post, [alice.id])
        assert await reader.receive() == {"type": "deleted", "id": str(post.id)}
        assert await reader.collect_for() == []


async def test_a_post_of_a_suspended_author_is_not_pushed(daphne, world, services) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe("home")
        post = await bob.publishes("from a suspended author")
        await services.accounts.suspend(account_id=bob.id)
        await services.live.entry_delivered(post, [alice.id])
        assert await reader.collect_for() == []
