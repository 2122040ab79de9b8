"""One key with a value of another type costs a page the item of that key, and nothing else."""

from collections.abc import Callable

import pytest

from accounts import keys as account_keys
from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.store import Key, Read, Store, WrongType
from tests.support.nodes import numbered_key
from tests.support.reactions import PersonReactions
from tests.support.world import Person, World, ids_of, ids_on
from timelines import keys
from timelines.posts.post import Post


async def damage(services: Services, key: Key) -> None:
    await services.store.execute_all([("DEL", key)])
    await services.store.execute_all([("SADD", key, "of another type")])


@pytest.fixture
def other_services(services: Services) -> Services:
    """A second process, whose caches are empty."""
    return Services(services.store, services.clock, ServiceConfig())


async def test_only_a_read_of_items_gets_a_reply_for_a_key_of_a_wrong_type(store: Store) -> None:
    for number in range(4):
        await store.execute_all([("SET", numbered_key(number), number)])
    await store.execute_all([("DEL", numbered_key(2))])
    await store.execute_all([("SADD", numbered_key(2), "member")])
    commands = [("GET", numbered_key(number)) for number in range(4)]
    items, plain = Read(commands, list, wrong_type_reply=None), Read(commands[3:], list)
    assert await store.read(items, plain) == [[b"0", b"1", None, b"3"], [b"3"]]
    assert await store.read(items.allow_lag(), items.map(len)) == [[b"0", b"1", None, b"3"], 4]
    with pytest.raises(WrongType):
        await store.read(items, Read(commands, list))


DAMAGED: dict[str, tuple[Callable[[Post, Person], Key], bool]] = {
    "post": (lambda post, _: keys.post(post.id), False),
    "account": (lambda _, author: account_keys.account(author.id), False),
    "counts": (lambda post, _: keys.post_counts(post.id), True),
    "replies": (lambda post, _: keys.replies(post.id), True),
    "boosts": (lambda post, _: keys.boosts(post.id), True),
}
"""The damaged key of a post or its author, and whether the post is still shown."""


@pytest.mark.parametrize("name", DAMAGED)
async def test_a_page_shows_all_posts_but_the_damaged_one(
    world: World,
    services: Services,
    other_services: Services,
    acts: PersonReactions,
    caplog: pytest.LogCaptureFixture,
    name: str,
) -> None:
    build_key, is_shown = DAMAGED[name]
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    for followed in (bob, carol, dave):
        await alice.follows(followed)
    first, damaged, last = [await author.publishes("#tea") for author in (bob, carol, bob)]
    answer = await dave.publishes("an answer", in_reply_to=first)
    for post in (first, damaged, last):
        await acts.boosts(dave, post)
        await acts.likes(carol, post)
    await world.deliver_all()
    expected = ids_of([last, damaged, first] if is_shown else [last, first])
    await alice.home()
    await damage(services, build_key(damaged, carol))
    for process in (services, other_services):
        reading = process.reading
        home = await reading.home(alice.id)
        assert {entry.shown.post.id for entry in home.entries} == {*expected, answer.id}
        for page in (await reading.tag("tea", viewer_id=None), await reading.tag("tea", viewer_id=alice.id)):
            assert ids_on(page) == expected
        assert ids_on(await reading.public(viewer_id=alice.id)) == [answer.id, *expected]
        thread = await process.threads.load_page(first, viewer_id=alice.id)
        assert [entry.id for entry in thread.replies] == [answer.id]
        assert (await process.threads.load_page(answer, viewer_id=alice.id)).parent is not None
        assert (await process.threads.load_page(damaged, viewer_id=alice.id)).replies == ()
        visible_likers = () if name == "account" else (carol.id,)
        assert (await process.reactions.likers(last.id, viewer_id=alice.id)).account_ids == visible_likers
        notifications = await process.notifications.page(bob.id)
        assert {each.author.id for each in notifications.entries} == {alice.id, dave.id, *visible_likers}
        notified = await process.notifications.page(carol.id)
        assert {each.kind.name for each in notified.entries} >= {"follow"}
        assert {each.account_id for each in await process.follow_suggestions.suggestions(bob.id, 5)} >= {dave.id}
        assert await process.autocomplete.complete_hashtags("te", limit=3) == ["tea"]
    logged = [record.getMessage() for record in caplog.records if record.name == "socialsite.store.store"]
    assert any(build_key(damaged, carol) in line for line in logged)


async def test_a_cached_home_of_a_wrong_type_is_rebuilt(alice: Person, bob: Person, services: Services) -> None:
    await alice.follows(bob)
    post = await bob.publishes("hello")
    await damage(services, keys.home_timeline(alice.id))
    assert await alice.home_ids() == [post.id]
    assert (
        await services.store.node(keys.home_timeline(alice.id)).execute("TYPE", keys.home_timeline(alice.id)) == b"list"
    )


async def test_relations_of_a_wrong_type_are_never_read_as_empty(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.blocks(bob)
    await bob.publishes("hello")
    await damage(services, keys.blocks(alice.id))
    with pytest.raises(WrongType):
        await services.reading.public(viewer_id=alice.id)
