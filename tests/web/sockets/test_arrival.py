"""A published post arrives on every process, in the right timelines, rendered for its reader."""

import httpx

from tests.support.sockets import open_socket, sign_in_cookie
from tests.support.waiting import eventually


async def test_an_entry_arrives_at_a_follower_on_another_process(daphnes, world) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with (
        open_socket(daphnes[0], await sign_in_cookie(alice)) as one,
        open_socket(daphnes[1], await sign_in_cookie(alice)) as two,
    ):
        for reader in (one, two):
            await reader.subscribe("home")
        post = await bob.publishes("hello <b>there</b>")
        await world.deliver_all()
        for reader in (one, two):
            entry = await reader.receive_entry(post.id, "home")
            assert entry["author"] == "bob"
            assert f'data-post-id="{post.id}"' in entry["html"]
            assert "hello &lt;b&gt;there" in entry["html"]


async def test_posts_arrive_in_public_and_profile_timelines_on_every_process(daphnes, world) -> None:
    bob = await world.person("bob")
    async with open_socket(daphnes[0]) as one, open_socket(daphnes[1]) as two:
        for reader in (one, two):
            await reader.subscribe("public")
            await reader.subscribe("profile:bob")
        post = await bob.publishes("to all")
        for reader in (one, two):
            await reader.receive_until(lambda m: len(reader.got) == 4)  # noqa: B023 - called at once
            assert reader.entry_ids("public") == reader.entry_ids("profile:bob") == [post.id]


async def test_authors_get_their_own_entry_with_its_buttons(daphne, world) -> None:
    alice, bob = await world.people("alice", "bob")
    async with (
        open_socket(daphne, await sign_in_cookie(alice)) as own,
        open_socket(daphne, await sign_in_cookie(bob)) as others,
    ):
        await own.subscribe("home")
        await own.subscribe("public")
        await others.subscribe("public")
        post = await alice.publishes("mine")
        assert "delete/" in (await own.receive_entry(post.id, "home"))["html"]
        assert "delete/" not in (await others.receive_entry(post.id, "public"))["html"]


async def test_a_list_shows_its_members_to_its_owner_alone(daphne, world) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    made = await alice.makes_list(bob)
    async with (
        open_socket(daphne, await sign_in_cookie(alice)) as owner,
        open_socket(daphne, await sign_in_cookie(carol)) as other,
    ):
        await owner.subscribe(f"list:{made.id}")
        await other.send({"type": "subscribe", "timeline": f"list:{made.id}"})
        assert (await other.receive())["code"] == "forbidden"
        post = await bob.publishes("for the list")
        await carol.publishes("not on the list")
        await world.deliver_all()
        await owner.receive_entry(post.id, f"list:{made.id}")
        # The emptied store deleted the presence of the process; its repair may send the entry again.
        assert {frame.get("id") for frame in await owner.collect_for()} <= {str(post.id)}


async def test_an_entry_arrives_in_the_readers_language(daphne, world) -> None:
    bob = await world.person("bob")
    async with open_socket(daphne, language="de") as german, open_socket(daphne) as english:
        for reader in (german, english):
            await reader.subscribe("public")
        post = await bob.publishes("hi")
        assert ">Antworten</span>" in (await german.receive_entry(post.id))["html"]
        assert ">Reply</span>" in (await english.receive_entry(post.id))["html"]


async def test_an_entry_arrives_in_the_default_language_if_the_browser_asks_for_no_other(
    daphne, world, services
) -> None:
    bob = await world.person("bob")
    await services.site.change(default_language="de")
    async with httpx.AsyncClient(base_url=daphne.origin) as browser:

        async def is_german() -> bool:
            return (await browser.get("/rules/")).headers["content-language"] == "de"

        await eventually(is_german)
    async with open_socket(daphne, language="xx") as unknown, open_socket(daphne) as english:
        for reader in (unknown, english):
            await reader.subscribe("public")
        post = await bob.publishes("hi")
        assert ">Antworten</span>" in (await unknown.receive_entry(post.id))["html"]
        assert ">Reply</span>" in (await english.receive_entry(post.id))["html"]


async def test_a_deletion_reaches_every_socket(daphnes, world) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await bob.publishes("soon gone")
    async with open_socket(daphnes[0]) as anonymous, open_socket(daphnes[1], await sign_in_cookie(alice)) as idle:
        await bob.deletes(post)
        for reader in (anonymous, idle):
            assert await reader.receive() == {"type": "deleted", "id": str(post.id)}


async def test_counts_arrive_for_sent_and_watched_entries(daphne, world) -> None:
    alice, bob = await world.people("alice", "bob")
    old = await bob.publishes("before the socket")
    async with open_socket(daphne) as watcher, open_socket(daphne) as other:
        await watcher.send({"type": "watch", "ids": [str(old.id)]})
        await watcher.subscribe("public")
        await other.subscribe("profile:alice")
        new = await bob.publishes("after")
        await watcher.receive_entry(new.id)
        await alice.publishes("re: before", in_reply_to=old)
        await alice.publishes("re: after", in_reply_to=new)
        missing_ids = {str(old.id), str(new.id)}
        while missing_ids:
            message = await watcher.receive_until(lambda m: m["type"] == "counts")
            assert message["counts"] == {"replies": 1, "boosts": 0, "likes": 0}
            missing_ids.discard(message["id"])
        await other.collect_for(0.2)
        assert not [m for m in other.got if m["type"] == "counts"]


async def test_unsubscribing_ends_only_that_timeline(daphne, world) -> None:
    bob = await world.person("bob")
    async with open_socket(daphne) as reader:
        await reader.subscribe("public")
        await reader.subscribe("profile:bob")
        await reader.send({"type": "unsubscribe", "timeline": "public"})
        await reader.subscribe("tag:tea")  # the server reads it after the unsubscription
        post = await bob.publishes("once")
        await reader.receive_entry(post.id, "profile:bob")
        await reader.collect_for(0.3)
        assert reader.entry_ids("public") == []
