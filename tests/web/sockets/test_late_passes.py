"""A late pass of a fan-out pushes no post that its reader may no longer see."""

import pytest

from tests.support.sockets import open_socket, sign_in_cookie


@pytest.mark.parametrize("change", ["unfollow", "deletion", "suspension of the author"])
async def test_a_late_pass_pushes_no_post_that_its_reader_may_no_longer_see(daphne, world, services, change) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe("home")
        post = await bob.publishes("too late")
        match change:
            case "unfollow":
                await alice.unfollows(bob)
            case "deletion":
                await bob.deletes(post)
            case _:
                await services.accounts.suspend(account_id=bob.id)
        await services.live.entry_delivered(post, [alice.id])
        if change == "deletion":
            assert await reader.receive() == {"type": "deleted", "id": str(post.id)}
        assert await reader.collect_for() == []
