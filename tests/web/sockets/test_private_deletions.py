"""The deletion of a post is sent only to readers who could see the post."""

import contextlib
from collections.abc import AsyncIterator

import pytest

from tests.support.daphnes import DaphneProcess
from tests.support.sockets import Message, SocketClient, open_socket, sign_in_cookie
from tests.support.world import Person, World
from timelines.posts.post import FOLLOWERS, Post

ABSENT_ID = 12_345
ALLOWED = {"alice", "bob"}
People = dict[str, Person]
Sockets = dict[str, SocketClient]


@pytest.fixture
async def people(world: World) -> People:
    """Bob is followed by Alice and blocks Dan; Carol is a stranger."""
    alice, bob, carol, dan = await world.people("alice", "bob", "carol", "dan")
    await alice.follows(bob)
    await bob.blocks(dan)
    return {person.handle: person for person in (alice, bob, carol, dan)}


@contextlib.asynccontextmanager
async def open_sockets(daphne: DaphneProcess, people: People) -> AsyncIterator[Sockets]:
    async with contextlib.AsyncExitStack() as stack:
        sockets = {"visitor": await stack.enter_async_context(open_socket(daphne))}
        for handle, person in people.items():
            cookie = await sign_in_cookie(person)
            sockets[handle] = await stack.enter_async_context(open_socket(daphne, cookie))
        yield sockets


def deletion_of(post: Post) -> Message:
    return {"type": "deleted", "id": str(post.id)}


@pytest.mark.parametrize("is_locked", [False, True], ids=["for followers", "of a locked account"])
async def test_only_readers_who_could_see_a_private_post_get_its_deletion(
    daphne: DaphneProcess, people: People, is_locked: bool
) -> None:
    bob = people["bob"]
    if is_locked:
        await bob.locks()
    post = await bob.publishes("private", audience=None if is_locked else FOLLOWERS)
    marker = await people["carol"].publishes("public")
    async with open_sockets(daphne, people) as sockets:
        for socket in sockets.values():
            await socket.subscribe("public")
            await socket.send({"type": "watch", "ids": [str(post.id), str(marker.id)]})
            await socket.subscribe("profile:bob", after=0)  # the follower's socket gets the entry
        await bob.deletes(post)
        await people["carol"].deletes(marker)
        for socket in sockets.values():
            await socket.receive_until(lambda message: message == deletion_of(marker))
        assert {name for name, socket in sockets.items() if deletion_of(post) in socket.got} == ALLOWED


async def test_a_reader_of_the_entry_gets_its_deletion_without_watching_it(
    daphne: DaphneProcess, world: World, people: People
) -> None:
    bob, cookie = people["bob"], await sign_in_cookie(people["alice"])
    async with open_socket(daphne, cookie) as reader:
        await reader.subscribe("home")
        post = await bob.publishes("private", audience=FOLLOWERS)
        await world.deliver_all()
        await reader.receive_entry(post.id, "home")
        await bob.deletes(post)
        await reader.receive_until(lambda message: message == deletion_of(post))


async def test_the_deletion_of_a_watched_private_post_is_sent_only_to_its_readers(
    daphne: DaphneProcess, people: People
) -> None:
    bob = people["bob"]
    hidden = await bob.publishes("stays", audience=FOLLOWERS)
    deleted = [await bob.publishes("private", audience=FOLLOWERS), await bob.publishes("public")]
    markers = [await bob.publishes(f"marker {number}") for number in range(2)]
    for post in (*deleted, *markers):
        await bob.deletes(post)
    async with open_sockets(daphne, people) as sockets:
        for socket in sockets.values():
            ids = [hidden.id, ABSENT_ID, *(post.id for post in deleted)]
            for post_ids in (ids, [markers[0].id], [markers[1].id]):
                await socket.send({"type": "watch", "ids": [str(id) for id in post_ids]})
                await socket.receive_until(lambda message, id=post_ids[-1]: message.get("id") == str(id))
        for name, socket in sockets.items():
            ids_told = {message.get("id") for message in socket.got}
            assert (str(deleted[0].id) in ids_told) == (name in ALLOWED)
            assert not {str(hidden.id), str(ABSENT_ID)} & ids_told
