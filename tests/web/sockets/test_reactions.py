"""Counts and boosts on open sockets, through real daphne processes."""

from tests.support.sockets import Message, SocketClient, open_socket, sign_in_cookie
from timelines.posts.post import Post


async def counts_of(reader: SocketClient, post: Post) -> Message:
    message = await reader.receive_until(lambda m: m["type"] == "counts" and m["id"] == str(post.id))
    counts: Message = message["counts"]
    return counts


async def test_counts_reach_every_watcher_on_every_process(daphnes, world, acts) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    async with open_socket(daphnes[0]) as one, open_socket(daphnes[1], await sign_in_cookie(bob)) as two:
        for reader in (one, two):
            await reader.subscribe("public")
            await reader.send({"type": "watch", "ids": [str(post.id)]})
        await acts.likes(bob, post)
        for reader in (one, two):
            assert await counts_of(reader, post) == {"replies": 0, "boosts": 0, "likes": 1}
        await acts.boosts(bob, post)
        for reader in (one, two):
            assert await counts_of(reader, post) == {"replies": 0, "boosts": 1, "likes": 1}


async def test_a_boost_arrives_with_its_original_and_its_counts_follow(daphnes, world, acts) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.follows(bob)
    post = await alice.publishes("hello <b>there</b>")
    await world.deliver_all()
    await acts.likes(carol, post)
    async with (
        open_socket(daphnes[0], await sign_in_cookie(carol)) as reader,
        open_socket(daphnes[1]) as public,
    ):
        await reader.subscribe("home")
        await public.subscribe("public")
        await acts.boosts(bob, post)
        await world.deliver_all()
        boost_id = await acts.boost_of(bob, post)
        entry = await reader.receive_entry(boost_id, "home")
        assert entry["author"] == "bob"
        assert f'data-post-id="{boost_id}" data-boost-of="{post.id}"' in entry["html"]
        assert "hello &lt;b&gt;there" in entry["html"]
        assert f"/posts/{post.id}/unlike/" in entry["html"]
        await acts.likes(alice, post)
        await reader.receive_until(lambda m: m["type"] == "counts" and m["counts"]["likes"] == 2)
        await acts.unboosts(bob, post)
        await reader.receive_until(lambda m: m["type"] == "deleted" and m["id"] == str(boost_id))
        assert public.entry_ids("public") == []


async def test_a_hidden_boost_does_not_arrive(daphnes, world, acts) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    for followed in (bob, carol):
        await dave.follows(followed)
    post = await alice.publishes("hello")
    await world.deliver_all()
    async with open_socket(daphnes[0], await sign_in_cookie(dave)) as reader:
        await reader.subscribe("home")
        for booster in (bob, carol):
            await acts.boosts(booster, post)
            await world.deliver_all()
        await reader.receive_entry(await acts.boost_of(bob, post), "home")
        await reader.collect_for()
        assert set(reader.entry_ids("home")) == {await acts.boost_of(bob, post)}


async def test_a_boost_is_sent_once_to_readers_who_may_see_it(daphne, world, acts) -> None:
    """Alice follows Bob and Carol: Bob's post is in her home timeline before Carol boosts it."""
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    await alice.follows(bob)
    for follower in (alice, dave):
        await follower.follows(carol)
    post = await bob.publishes("a cup of tea")
    await world.deliver_all()
    async with (
        open_socket(daphne, await sign_in_cookie(alice)) as follower_of_author,
        open_socket(daphne, await sign_in_cookie(dave)) as not_met,
    ):
        for reader in (follower_of_author, not_met):
            await reader.subscribe("home")
        await acts.boosts(carol, post)
        await world.deliver_all()
        entry = await not_met.receive_until(lambda message: message["type"] == "entry")
        assert entry["author"] == "carol"
        assert f'data-boost-of="{post.id}"' in entry["html"]
        await follower_of_author.collect_for()
        assert "carol" not in [frame.get("author") for frame in follower_of_author.got]


async def test_boosts_of_an_account_with_hidden_boosts_are_not_sent(daphne, world, acts, services) -> None:
    alice, carol, dave = await world.people("alice", "carol", "dave")
    await alice.follows(carol)
    post = await dave.publishes("unknown to alice")
    now_ms = services.clock.now_ms()
    await services.blocks_and_mutes.hide_boosts(account_id=alice.id, other_id=carol.id, now_ms=now_ms)
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe("home")
        await acts.boosts(carol, post)
        await world.deliver_all()
        own = await carol.publishes("her own words")
        await world.deliver_all()
        await reader.receive_entry(own.id, "home")
        await reader.collect_for()
        by_carol = [frame["id"] for frame in reader.got if frame.get("author") == "carol"]
        assert set(by_carol) == {str(own.id)}
