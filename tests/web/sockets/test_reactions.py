"""Likes and boosts on open pages, and boosts that are withdrawn."""

from dataclasses import dataclass

import pytest

from socialsite.container import Services
from socialsite.ids import PostId
from socialsite.recipes.presence import processes_key
from tests.support.reactions import PersonReactions
from tests.support.sockets import Message, SocketClient, open_socket, sign_in_cookie
from tests.support.world import Person, World
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
    async with open_socket(daphnes[0], await sign_in_cookie(carol)) as reader, open_socket(daphnes[1]) as public:
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


@dataclass
class RemovedBoostScenario:
    """Dave follows Bob, Carol and Erin and has Bob and Carol on a list; they boost, in this order."""

    acts: PersonReactions
    dave: Person
    boosters: list[Person]
    post: Post
    boosts: list[PostId]
    list_name: str

    async def withdraws(self, number: int) -> PostId:
        await self.acts.unboosts(self.boosters[number], self.post)
        return self.boosts[number]


@pytest.fixture
async def scene(world: World, acts: PersonReactions) -> RemovedBoostScenario:
    alice, dave, *boosters = await world.people("alice", "dave", "bob", "carol", "erin")
    for booster in boosters:
        await dave.follows(booster)
    list_ = await dave.makes_list(*boosters[:2])
    post = await alice.publishes("hello")
    for booster in boosters:
        await acts.boosts(booster, post)
    await world.deliver_all()
    boost_ids = [await acts.boost_of(booster, post) for booster in boosters]
    boosts = [id for id in boost_ids if id is not None]
    assert len(boosts) == len(boosters)
    return RemovedBoostScenario(acts, dave, boosters, post, boosts, f"list:{list_.id}")


async def receive_replacement(reader: SocketClient, boost_id: PostId, *removed_ids: PostId) -> Message:
    """Wait for the entry of a replacement on the home timeline and for the deletions, in any order."""

    def entries() -> list[Message]:
        key = "entry", str(boost_id), "home"
        return [each for each in reader.got if (each["type"], each.get("id"), each.get("timeline")) == key]

    deletions = [{"type": "deleted", "id": str(removed_id)} for removed_id in removed_ids]
    while not (entries() and all(deletion in reader.got for deletion in deletions)):
        await reader.receive()
    return entries()[0]


async def test_the_next_boost_replaces_the_withdrawn_boost(daphnes, scene: RemovedBoostScenario) -> None:
    cookie = await sign_in_cookie(scene.dave)
    async with open_socket(daphnes[0], cookie) as one, open_socket(daphnes[1], cookie) as other:
        for reader in (one, other):
            for timeline in ("home", scene.list_name, "public"):
                await reader.subscribe(timeline)
        await scene.withdraws(0)
        for reader in (one, other):
            entry = await receive_replacement(reader, scene.boosts[1], scene.boosts[0])
            assert entry["author"] == "carol"
            assert f'data-boost-of="{scene.post.id}"' in entry["html"]
            await reader.collect_for()
            assert reader.shown_ids("home") == reader.shown_ids(scene.list_name) == [scene.boosts[1]]
            assert set(reader.entry_ids("public")) <= {scene.post.id}  # the entry of the post may have been on its way
        await scene.withdraws(1)
        for reader in (one, other):
            await receive_replacement(reader, scene.boosts[2], scene.boosts[1])
            await reader.collect_for()
            assert reader.shown_ids(scene.list_name) == []  # no other list member boosted the post


async def test_a_replacement_the_reader_may_not_see_is_not_sent(
    daphnes, scene: RemovedBoostScenario, world: World
) -> None:
    """Grace has the original in her home timeline; Dave mutes the next booster, so he receives the third boost."""
    grace, author = await world.people("grace", "author")
    for followed in (*scene.boosters, author):
        await grace.follows(followed)
    own = await author.publishes("in grace's home by itself")
    for booster in scene.boosters[:2]:
        await scene.acts.boosts(booster, own)
    await scene.dave.mutes(scene.boosters[1])
    await world.deliver_all()
    withdrawn, hidden = [await scene.acts.boost_of(booster, own) for booster in scene.boosters[:2]]
    assert withdrawn
    async with (
        open_socket(daphnes[0], await sign_in_cookie(grace)) as follower_of_author,
        open_socket(daphnes[0], await sign_in_cookie(scene.dave)) as muting_reader,
    ):
        for reader in (follower_of_author, muting_reader):
            await reader.subscribe("home")
        await scene.acts.unboosts(scene.boosters[0], own)
        await scene.withdraws(0)
        for reader in (follower_of_author, muting_reader):
            shown_boost = scene.boosts[2] if reader is muting_reader else scene.boosts[1]
            await receive_replacement(reader, shown_boost, scene.boosts[0], withdrawn)
            await reader.collect_for()
        assert hidden not in follower_of_author.entry_ids("home") + muting_reader.entry_ids("home")
        assert muting_reader.shown_ids("home") == [scene.boosts[2]]


async def test_a_replacement_while_the_socket_was_closed_arrives_with_the_deletion(
    daphnes, scene: RemovedBoostScenario
) -> None:
    """The page sends its boost ids when it reconnects; the tombstone of the boost names the post."""
    await scene.withdraws(0)
    await scene.withdraws(1)
    async with open_socket(daphnes[0], await sign_in_cookie(scene.dave)) as reader:
        for timeline in ("home", scene.list_name):
            await reader.subscribe(timeline)
        await reader.send({"type": "watch", "ids": [str(scene.boosts[0]), str(scene.post.id)]})
        await receive_replacement(reader, scene.boosts[2], scene.boosts[0])
        await reader.collect_for()
        assert reader.shown_ids("home") == [scene.boosts[2]]
        assert reader.shown_ids(scene.list_name) == []


@pytest.mark.usefixtures("returning_connections")
async def test_a_lost_message_is_sent_later(daphnes, scene: RemovedBoostScenario, services: Services) -> None:
    async with open_socket(daphnes[0], await sign_in_cookie(scene.dave)) as reader:
        await reader.subscribe("home")
        await reader.send({"type": "watch", "ids": [str(scene.boosts[0]), str(scene.post.id)]})
        await services.store.node(processes_key()).execute("CLIENT", "KILL", "TYPE", "pubsub")
        await scene.withdraws(0)
        await reader.receive_entry(scene.boosts[1], "home", timeout_s=15)


async def test_an_own_boost_is_replaced_by_anothers_boost(daphnes, scene: RemovedBoostScenario) -> None:
    async with open_socket(daphnes[0], await sign_in_cookie(scene.boosters[0])) as reader:
        await scene.boosters[0].follows(scene.boosters[2])
        await reader.subscribe("home")
        await scene.withdraws(0)
        await receive_replacement(reader, scene.boosts[2], scene.boosts[0])


async def test_boosts_of_a_deleted_account_are_replaced(daphnes, scene: RemovedBoostScenario, world: World) -> None:
    async with open_socket(daphnes[1], await sign_in_cookie(scene.dave)) as reader:
        await reader.subscribe("home")
        await world.services.accounts.delete(account_id=scene.boosters[0].id)
        await world.deliver_all()
        await reader.receive_entry(scene.boosts[1], "home")
