"""Entries of lists and hashtags, and entries with quotes and previews."""

from tests.support.daphnes import running_daphne
from tests.support.sockets import SocketClient, open_socket, sign_in_cookie
from timelines.posts.post import Post, PostDetails
from timelines.previews.preview import LinkPreview
from timelines.previews.queue import FetchPreview, encode_job


async def test_a_virtual_list_receives_the_entries_of_its_parts_live(daphne, world, services) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    one, two = await alice.makes_list(bob, carol), await alice.makes_list(carol, dave)
    common = await services.lists.create(
        owner_id=alice.id, title="common", now_ms=1, operation="intersection", parts=(one.id, two.id)
    )
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe(f"list:{common.id}")
        await bob.publishes("on one of them")
        post = await carol.publishes("on both")
        await dave.publishes("on the other")
        await world.deliver_all()
        await reader.receive_entry(post.id, f"list:{common.id}")
        await reader.collect_for()
        assert set(reader.entry_ids(f"list:{common.id}")) == {post.id}


async def test_a_public_timeline_without_replies_gets_none_live_and_none_after_a_pause(daphne, world, services) -> None:
    bob, carol = await world.people("bob", "carol")
    first = await carol.publishes("first")
    await world.deliver_all()
    async with open_socket(daphne) as reader:
        await reader.subscribe("public:posts")
        await bob.publishes("to carol", in_reply_to=first)
        own = await carol.publishes("to herself", in_reply_to=first)
        await world.deliver_all()
        await reader.receive_entry(own.id, "public:posts")
        await reader.collect_for()
        assert set(reader.entry_ids("public:posts")) - {first.id} == {own.id}  # its message may still be on its way
    async with open_socket(daphne) as reader:
        await reader.subscribe("public:posts", after=0)
        await reader.subscribe("public", after=0)
        assert reader.entry_ids("public:posts") == [first.id, own.id]
        assert len(reader.entry_ids("public")) == 3


async def test_the_replies_policy_applies_to_sockets(daphne, world, services) -> None:
    alice, bob, carol, erin = await world.people("alice", "bob", "carol", "erin")
    friends = await alice.makes_list(bob, carol)
    await services.lists.edit(owner_id=alice.id, list_id=friends.id, replies="members")
    strange_post, known_post = await erin.publishes("strange"), await carol.publishes("known")
    await world.deliver_all()
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe(f"list:{friends.id}")
        await bob.publishes("to a stranger", in_reply_to=strange_post)
        await world.deliver_all()
        post = await bob.publishes("to a friend", in_reply_to=known_post)
        await world.deliver_all()
        await reader.receive_entry(post.id, f"list:{friends.id}")
        await reader.collect_for()
        assert set(reader.entry_ids(f"list:{friends.id}")) <= {known_post.id, post.id}


async def test_a_changed_replies_policy_applies_to_open_sockets(daphne, world, services) -> None:
    alice, bob, erin = await world.people("alice", "bob", "erin")
    friends = await alice.makes_list(bob)
    name, strange = f"list:{friends.id}", await erin.publishes("strange")
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe(name)
        for replies in ("none", "all"):
            await services.lists.edit(owner_id=alice.id, list_id=friends.id, replies=replies)
            await reader.receive_until(lambda m: m["type"] == "subscribed" and m["timeline"] == name)
            answer = await bob.publishes(f"while it says {replies}", in_reply_to=strange)
            await world.deliver_all()
            post = await bob.publishes("to nobody")
            await world.deliver_all()
            await reader.receive_entry(post.id, name)
            assert (answer.id in reader.entry_ids(name)) is (replies == "all")


async def test_changed_parts_of_a_virtual_list_apply_to_open_sockets(daphne, world, services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    one, two, nobody = [await alice.makes_list(*others) for others in ((bob,), (carol,), ())]
    both = await services.lists.create(
        owner_id=alice.id, title="both", now_ms=1, operation="union", parts=(one.id, two.id)
    )
    outer = await services.lists.create(
        owner_id=alice.id, title="outer", now_ms=1, operation="union", parts=(both.id, nobody.id)
    )
    name = f"list:{outer.id}"
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe(name)
        await services.lists.edit(owner_id=alice.id, list_id=both.id, operation="difference", parts=(one.id, two.id))
        await reader.receive_until(lambda m: m["type"] == "subscribed" and m["timeline"] == name)
        await carol.publishes("no longer")
        post = await bob.publishes("still")
        await world.deliver_all()
        await reader.receive_entry(post.id, name)
        assert reader.entry_ids(name) == [post.id]


async def test_members_of_an_exclusive_list_do_not_arrive_at_home(daphne, world, services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    for other in (bob, carol):
        await alice.follows(other)
    apart = await alice.makes_list(bob)
    await services.lists.edit(owner_id=alice.id, list_id=apart.id, exclusive=True)
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe("home")
        await bob.publishes("read elsewhere")
        post = await carol.publishes("read at home")
        await world.deliver_all()
        await reader.receive_entry(post.id, "home")
        await reader.collect_for()
        assert reader.entry_ids("home") == [post.id]


async def test_a_tagged_post_arrives_at_every_subscriber_on_every_process(daphnes, world) -> None:
    alice = await world.person("alice")
    async with open_socket(daphnes[0]) as one, open_socket(daphnes[1]) as two:
        await one.subscribe("tag:日本")
        await two.subscribe("tag:Redis")
        await two.subscribe("tag:日本")
        both = await alice.publishes("#redis in #日本")
        await one.receive_entry(both.id, "tag:日本")
        await two.receive_until(lambda m: len([each for each in two.got if each["type"] == "entry"]) == 2)
        assert two.entry_ids("tag:日本") == two.entry_ids("tag:Redis") == [both.id]
        other_post = await alice.publishes("#other")
        last = await alice.publishes("only #REDIS")
        await two.receive_entry(last.id, "tag:Redis")
        assert all(m["id"] == str(both.id) for m in await one.collect_for(0.3))  # a replay may repeat known entries
        assert str(other_post.id) not in str(two.got)


async def test_missed_posts_of_a_tag_are_replayed(daphne, world) -> None:
    alice = await world.person("alice")
    first, second = [await alice.publishes(f"{n} #redis") for n in range(2)]
    async with open_socket(daphne) as reader:
        await reader.send({"type": "subscribe", "timeline": "tag:redis", "after": str(first.id)})
        await reader.receive_entry(second.id, "tag:redis")


async def test_a_suspended_authors_post_is_not_pushed_to_its_tags(daphne, world, services) -> None:
    bob = await world.person("bob")
    async with open_socket(daphne) as reader:
        await reader.subscribe("tag:redis")
        await services.accounts.suspend(account_id=bob.id)
        await bob.publishes("#redis")
        assert await reader.collect_for() == []


SECRET = "canaryquoted"


async def quote_of(reader: SocketClient, quote: Post) -> str:
    message = await reader.receive_until(lambda m: m["type"] == "quote" and m["id"] == str(quote.id))
    html: str = message["html"]
    return html


async def test_a_live_entry_contains_the_quoted_post_only_for_readers_who_may_see_it(daphnes, world) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    post = await alice.publishes(SECRET)
    await carol.mutes(alice)
    async with (
        open_socket(daphnes[0], await sign_in_cookie(carol)) as muting,
        open_socket(daphnes[0], await sign_in_cookie(dave)) as other,
        open_socket(daphnes[0]) as visitor,
    ):
        for reader in (muting, other, visitor):
            await reader.subscribe("public")
        quote = await bob.publishes("look", details=PostDetails(quote_of=post.id))
        shown = [(await reader.receive_entry(quote.id))["html"] for reader in (muting, other, visitor)]
        assert [SECRET in html for html in shown] == [False, True, True]
        assert "You muted @alice." in shown[0]


async def test_open_pages_follow_edits_deletion_and_revocation(daphnes, world) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    post, other = await alice.publishes("first"), await alice.publishes(SECRET)
    quote = await bob.publishes("look", details=PostDetails(quote_of=post.id))
    second = await bob.publishes("look", details=PostDetails(quote_of=other.id))
    async with open_socket(daphnes[0], await sign_in_cookie(carol)) as reader:
        await reader.subscribe("public")
        await reader.send({"type": "watch", "ids": [str(quote.id), str(second.id)]})
        await alice.edits(post, "newer")
        assert "newer" in await quote_of(reader, quote)
        await alice.deletes(post)
        assert "The quoted post was deleted." in await quote_of(reader, quote)
        await world.services.quotes.revoke(account_id=alice.id, post_id=second.id)
        assert SECRET not in (html := await quote_of(reader, second))
        assert "The author has removed their post from this quote." in html


LINK = "https://tea.org/"


async def test_an_open_page_shows_the_preview_as_soon_as_it_is_stored(redis_server, world) -> None:
    alice, bob = await world.people("alice", "bob")
    services = world.services
    services.previews.link_previews = True
    with running_daphne(redis_server.url, LINK_PREVIEWS="1") as daphne:
        async with open_socket(daphne, await sign_in_cookie(bob)) as reader:
            await reader.subscribe("public")
            post = await alice.publishes(f"read {LINK}")
            assert "About tea" not in (await reader.receive_entry(post.id))["html"]
            await reader.send({"type": "watch", "ids": [str(post.id)]})
            now_ms = services.clock.now_ms()
            await services.repositories.previews.save(LinkPreview(LINK, "About tea", fetched_ms=now_ms))
            await services.previews.handle(encode_job(FetchPreview(LINK, alice.id, post.id)))
            edited = await reader.receive_until(lambda message: message["type"] == "edited")
            assert edited["id"] == str(post.id)
            assert "About tea" in edited["html"]
