"""Notifications on the socket arrive live, are replayed by their ids, and reach only their reader."""

from tests.support.daphnes import DaphneProcess
from tests.support.reactions import PersonReactions
from tests.support.sockets import open_socket, sign_in_cookie
from tests.support.world import World

NAME = "notifications"


async def test_notifications_arrive_only_at_their_reader(daphne: DaphneProcess, world: World) -> None:
    alice, bob = await world.people("alice", "bob")
    async with (
        open_socket(daphne, await sign_in_cookie(alice)) as own,
        open_socket(daphne, await sign_in_cookie(bob)) as other,
    ):
        await own.subscribe(NAME)
        await other.subscribe(NAME)
        post = await bob.publishes("hello @alice")
        await world.deliver_all()
        entry = await own.receive_until(lambda m: m["type"] == "entry" and m["timeline"] == NAME)
        (notification,) = (await world.services.notifications.page(alice.id)).entries
        assert (entry["id"], entry["author"]) == (str(notification.id), "bob")
        assert 'data-kind="mention"' in entry["html"]
        assert f'data-post-id="{post.id}"' in entry["html"]
        assert await other.collect_for() == []


async def test_missed_notifications_are_replayed_after_the_last_id(daphne: DaphneProcess, world: World) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await bob.follows(alice)
    (first,) = (await world.services.notifications.page(alice.id)).entries
    await carol.follows(alice)
    second = (await world.services.notifications.page(alice.id)).entries[0]
    async with open_socket(daphne, await sign_in_cookie(alice)) as own:
        live = await own.subscribe(NAME, after=first.id)
        assert own.entry_ids(NAME)[-1] == second.id
        assert live["last"] == str(second.id)
        await own.send({"type": "unsubscribe", "timeline": NAME})
        await own.subscribe("public")
        await carol.unfollows(alice)
        await carol.publishes("hello @alice")
        await world.deliver_all()
        assert NAME not in [m.get("timeline") for m in await own.collect_for()]


async def test_a_notification_the_reader_may_not_see_is_not_sent(daphne: DaphneProcess, world: World) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.mutes(bob)
    async with open_socket(daphne, await sign_in_cookie(alice)) as own:
        await own.subscribe(NAME)
        await bob.follows(alice)
        assert await own.collect_for() == []


async def test_visitors_have_no_notifications(daphne: DaphneProcess, world: World) -> None:
    async with open_socket(daphne) as visitor:
        await visitor.send({"type": "subscribe", "timeline": NAME})
        assert await visitor.receive() == {"type": "error", "code": "signed_out", "timeline": NAME}


async def test_more_than_a_hundred_missed_notifications_are_a_gap(
    daphne: DaphneProcess, world: World, acts: PersonReactions
) -> None:
    alice, bob = await world.people("alice", "bob")
    for number in range(102):
        post = await alice.publishes(f"word {number}")
        await acts.likes(bob, post)
    newest = (await world.services.notifications.page(alice.id)).entries[0]
    async with open_socket(daphne, await sign_in_cookie(alice)) as own:
        await own.subscribe(NAME, after=1)
        gap = next(m for m in own.got if m["type"] == "gap")
        assert (gap["timeline"], gap["newest"]) == (NAME, str(newest.id))
