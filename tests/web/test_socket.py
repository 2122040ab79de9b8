"""Live updates through real daphne processes: what arrives, where, and who is let in."""

from collections.abc import Iterator

import pytest
from websockets.exceptions import InvalidStatus

from socialsite.services import Services
from tests.support.redis_server import RedisServer
from tests.support.sockets import Daphne, client, running, signed_in
from tests.support.world import World


@pytest.fixture(scope="module")
def sites(redis_server: RedisServer) -> Iterator[tuple[Daphne, Daphne]]:
    """Two web processes over the same store."""
    with running(redis_server.url) as one, running(redis_server.url) as other:
        yield one, other


@pytest.fixture
def site(sites: tuple[Daphne, Daphne]) -> Daphne:
    return sites[0]


@pytest.fixture
def world(services: Services) -> World:
    return World(services)


async def test_an_entry_arrives_at_a_follower_on_another_process(sites, world) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with (
        client(sites[0], await signed_in(alice)) as one,
        client(sites[1], await signed_in(alice)) as two,
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


async def test_public_and_profile_arrive_at_anybody_on_every_process(sites, world) -> None:
    bob = await world.person("bob")
    async with client(sites[0]) as one, client(sites[1]) as two:
        for reader in (one, two):
            await reader.subscribe("public")
            await reader.subscribe("profile:bob")
        post = await bob.publishes("to all")
        for reader in (one, two):
            await reader.until(lambda m: len(reader.got) == 4)  # noqa: B023 - called at once
            assert reader.entry_ids("public") == reader.entry_ids("profile:bob") == [post.id]


async def test_authors_get_their_own_entry_with_its_buttons(site, world) -> None:
    alice, bob = await world.people("alice", "bob")
    async with client(site, await signed_in(alice)) as own, client(site, await signed_in(bob)) as others:
        await own.subscribe("home")
        await own.subscribe("public")
        await others.subscribe("public")
        post = await alice.publishes("mine")
        assert "delete/" in (await own.entry(post.id, "home"))["html"]
        assert "delete/" not in (await others.entry(post.id, "public"))["html"]


async def test_a_list_shows_its_members_to_its_owner_alone(site, world, services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    made = await services.lists.create(owner_id=alice.id, title="Friends", now_ms=services.clock.now_ms())
    await services.lists.add_member(
        owner_id=alice.id, list_id=made.id, account_id=bob.id, now_ms=services.clock.now_ms()
    )
    async with client(site, await signed_in(alice)) as owner, client(site, await signed_in(carol)) as other:
        await owner.subscribe(f"list:{made.id}")
        await other.say({"type": "subscribe", "timeline": f"list:{made.id}"})
        assert await other.next() == {"type": "error", "code": "forbidden"}
        post = await bob.publishes("for the list")
        await carol.publishes("not on the list")
        await world.work()
        await owner.entry(post.id, f"list:{made.id}")
        # The emptied store cost the process its presence: what it mends may come twice, as clients know.
        assert {frame.get("id") for frame in await owner.silence()} <= {str(post.id)}


async def test_an_entry_comes_in_the_readers_language(site, world) -> None:
    bob = await world.person("bob")
    async with client(site, language="de") as german, client(site) as english:
        for reader in (german, english):
            await reader.subscribe("public")
        post = await bob.publishes("hi")
        assert ">Antworten</span>" in (await german.entry(post.id))["html"]
        assert ">Reply</span>" in (await english.entry(post.id))["html"]


async def test_a_deletion_reaches_every_socket(sites, world) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await bob.publishes("soon gone")
    async with client(sites[0]) as anonymous, client(sites[1], await signed_in(alice)) as idle:
        await bob.deletes(post)
        for reader in (anonymous, idle):
            assert await reader.next() == {"type": "deleted", "id": str(post.id)}


async def test_one_who_unfollowed_gets_nothing_more(site, world, services) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with client(site, await signed_in(alice)) as reader:
        await reader.subscribe("home")
        post = await bob.publishes("too late")
        await alice.unfollows(bob)
        await services.live.entry_delivered(post, [alice.id])
        assert await reader.silence() == []


async def test_a_deleted_post_is_not_pushed_by_a_late_pass(site, world, services) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with client(site, await signed_in(alice)) as reader:
        await reader.subscribe("home")
        post = await bob.publishes("withdrawn")
        await bob.deletes(post)
        await services.live.entry_delivered(post, [alice.id])
        assert await reader.next() == {"type": "deleted", "id": str(post.id)}
        assert await reader.silence() == []


async def test_a_suspended_author_is_not_pushed(site, world, services) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with client(site, await signed_in(alice)) as reader:
        await reader.subscribe("home")
        post = await bob.publishes("from a suspended author")
        await services.accounts.suspend(account_id=bob.id)
        await services.live.entry_delivered(post, [alice.id])
        assert await reader.silence() == []


async def test_counts_follow_the_entries_that_were_sent_and_those_watched(site, world) -> None:
    alice, bob = await world.people("alice", "bob")
    old = await bob.publishes("before the socket")
    async with client(site) as watcher, client(site) as other:
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


async def test_unsubscribing_ends_a_timeline_and_no_other(site, world) -> None:
    bob = await world.person("bob")
    async with client(site) as reader:
        await reader.subscribe("public")
        await reader.subscribe("profile:bob")
        await reader.say({"type": "unsubscribe", "timeline": "public"})
        await reader.subscribe("tag:tea")  # read after that
        post = await bob.publishes("once")
        await reader.entry(post.id, "profile:bob")
        assert await reader.silence(0.3) == []
        assert reader.entry_ids("public") == []


@pytest.mark.parametrize(
    ("timeline", "code"),
    [
        ("home", "signed_out"),
        ("list:1", "signed_out"),
        ("profile:nobody", "forbidden"),
        ("tag:no tag", "bad_message"),
        ("profile:", "bad_message"),
        ("live:{l0}:events", "bad_message"),
        ("", "bad_message"),
    ],
)
async def test_what_an_anonymous_reader_cannot_have_is_refused_and_the_socket_stays(
    site, world, timeline, code
) -> None:
    async with client(site) as reader:
        await reader.say({"type": "subscribe", "timeline": timeline})
        assert await reader.next() == {"type": "error", "code": code}
        await reader.subscribe("public")


@pytest.mark.parametrize(
    "message",
    [
        "", "null", "[]", "{", '{"type":"subscribe"}', '{"type":"fly"}', '{"type":"watch","ids":["x"]}',
        '{"type":"watch","ids":[-1]}', '{"type":"subscribe","timeline":"public","after":"9007199254740992"}',
        '{"type":"watch","ids":[' + ",".join(["1"] * 101) + "]}", b"\x00\xff", "[" * 2000,
        '{"type":"\\ud800"}',
    ],
)  # fmt: skip
async def test_a_bad_message_is_answered_and_the_socket_stays(site, world, message) -> None:
    async with client(site) as reader:
        await reader.say(message)
        assert await reader.next() == {"type": "error", "code": "bad_message"}
        await reader.subscribe("public")


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", "http://127.0.0.1:1"])
async def test_a_foreign_or_missing_origin_is_403(site, world, origin) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with client(site, origin=origin):
            pass
    assert refused.value.response.status_code == 403


async def test_https_is_another_origin_than_http(site, world) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with client(site, origin=f"https://127.0.0.1:{site.port}"):
            pass
    assert refused.value.response.status_code == 403


async def test_a_tag_arrives_at_whoever_has_it_open_on_every_process(sites, world) -> None:
    alice = await world.person("alice")
    async with client(sites[0]) as one, client(sites[1]) as two:
        await one.subscribe("tag:日本")
        await two.subscribe("tag:Redis")
        await two.subscribe("tag:日本")
        both = await alice.publishes("#redis in #日本")
        await one.entry(both.id, "tag:日本")
        await two.until(lambda m: len([each for each in two.got if each["type"] == "entry"]) == 2)
        assert two.entry_ids("tag:日本") == two.entry_ids("tag:Redis") == [both.id]
        other = await alice.publishes("#other")
        last = await alice.publishes("only #REDIS")
        await two.entry(last.id, "tag:Redis")
        assert all(
            m["id"] == str(both.id) for m in await one.silence(0.3)
        )  # a replay may repeat what is held
        assert str(other.id) not in str(two.got)


async def test_what_a_tag_got_meanwhile_is_replayed(site, world) -> None:
    alice = await world.person("alice")
    first, second = [await alice.publishes(f"{n} #redis") for n in range(2)]
    async with client(site) as reader:
        await reader.say({"type": "subscribe", "timeline": "tag:redis", "after": str(first.id)})
        await reader.entry(second.id, "tag:redis")


async def test_a_suspended_authors_post_is_not_pushed_to_its_tags(site, world, services) -> None:
    bob = await world.person("bob")
    async with client(site) as reader:
        await reader.subscribe("tag:redis")
        await services.accounts.suspend(account_id=bob.id)
        await bob.publishes("#redis")
        assert await reader.silence() == []
