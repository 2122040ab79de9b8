"""What is published arrives where it belongs, on every process, as its reader sees it."""

from tests.support.sockets import client, signed_in


async def test_an_entry_arrives_at_a_follower_on_another_process(daphnes, world) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with (
        client(daphnes[0], await signed_in(alice)) as one,
        client(daphnes[1], await signed_in(alice)) as two,
    ):
        for reader in (one, two):
            await reader.subscribe("home")
        post = await bob.publishes("hello <b>there</b>")
        await world.work()
        for reader in (one, two):
            entry = await reader.entry(post.id, "home")
            assert entry["author"] == "bob"
            assert f'data-post-id="{post.id}"' in entry["html"]
            assert "hello &lt;b&gt;there" in entry["html"]


async def test_public_and_profile_arrive_at_anybody_on_every_process(daphnes, world) -> None:
    bob = await world.person("bob")
    async with client(daphnes[0]) as one, client(daphnes[1]) as two:
        for reader in (one, two):
            await reader.subscribe("public")
            await reader.subscribe("profile:bob")
        post = await bob.publishes("to all")
        for reader in (one, two):
            await reader.until(lambda m: len(reader.got) == 4)  # noqa: B023 - called at once
            assert reader.entry_ids("public") == reader.entry_ids("profile:bob") == [post.id]


async def test_authors_get_their_own_entry_with_its_buttons(daphne, world) -> None:
    alice, bob = await world.people("alice", "bob")
    async with client(daphne, await signed_in(alice)) as own, client(daphne, await signed_in(bob)) as others:
        await own.subscribe("home")
        await own.subscribe("public")
        await others.subscribe("public")
        post = await alice.publishes("mine")
        assert "delete/" in (await own.entry(post.id, "home"))["html"]
        assert "delete/" not in (await others.entry(post.id, "public"))["html"]


async def test_a_list_shows_its_members_to_its_owner_alone(daphne, world) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    made = await alice.makes_list(bob)
    async with (
        client(daphne, await signed_in(alice)) as owner,
        client(daphne, await signed_in(carol)) as other,
    ):
        await owner.subscribe(f"list:{made.id}")
        await other.say({"type": "subscribe", "timeline": f"list:{made.id}"})
        assert await other.next() == {"type": "error", "code": "forbidden"}
        post = await bob.publishes("for the list")
        await carol.publishes("not on the list")
        await world.work()
        await owner.entry(post.id, f"list:{made.id}")
        # The emptied store cost the process its presence: what it mends may come twice, as clients know.
        assert {frame.get("id") for frame in await owner.silence()} <= {str(post.id)}


async def test_an_entry_comes_in_the_readers_language(daphne, world) -> None:
    bob = await world.person("bob")
    async with client(daphne, language="de") as german, client(daphne) as english:
        for reader in (german, english):
            await reader.subscribe("public")
        post = await bob.publishes("hi")
        assert ">Antworten</span>" in (await german.entry(post.id))["html"]
        assert ">Reply</span>" in (await english.entry(post.id))["html"]


async def test_a_deletion_reaches_every_socket(daphnes, world) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await bob.publishes("soon gone")
    async with client(daphnes[0]) as anonymous, client(daphnes[1], await signed_in(alice)) as idle:
        await bob.deletes(post)
        for reader in (anonymous, idle):
            assert await reader.next() == {"type": "deleted", "id": str(post.id)}


async def test_counts_follow_the_entries_that_were_sent_and_those_watched(daphne, world) -> None:
    alice, bob = await world.people("alice", "bob")
    old = await bob.publishes("before the socket")
    async with client(daphne) as watcher, client(daphne) as other:
        await watcher.say({"type": "watch", "ids": [str(old.id)]})
        await watcher.subscribe("public")
        await other.subscribe("profile:alice")
        new = await bob.publishes("after")
        await watcher.entry(new.id)
        await alice.publishes("re: before", in_reply_to=old)
        await alice.publishes("re: after", in_reply_to=new)
        wanted = {str(old.id), str(new.id)}
        while wanted:
            found = await watcher.until(lambda m: m["type"] == "counts")
            assert found["counts"] == {"replies": 1, "boosts": 0, "likes": 0}
            wanted.discard(found["id"])
        await other.silence(0.2)
        assert not [m for m in other.got if m["type"] == "counts"]


async def test_unsubscribing_ends_a_timeline_and_no_other(daphne, world) -> None:
    bob = await world.person("bob")
    async with client(daphne) as reader:
        await reader.subscribe("public")
        await reader.subscribe("profile:bob")
        await reader.say({"type": "unsubscribe", "timeline": "public"})
        await reader.subscribe("tag:tea")  # read after that
        post = await bob.publishes("once")
        await reader.entry(post.id, "profile:bob")
        assert await reader.silence(0.3) == []
        assert reader.entry_ids("public") == []
