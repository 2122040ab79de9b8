"""Search: the index finds what reading every post would find, on every topology, and may be lost."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.domain import AccountId
from socialsite.configuration import Configuration
from socialsite.ids import MAX_ID, PostId
from socialsite.services import Services, open_services
from socialsite.store import Key, Store, StoreUnavailable, StoreUrls
from socialsite.store.key import GRAMMAR
from tests.support.redis_server import RedisServer
from tests.support.topologies import Deployment
from tests.support.world import Person, World, ids_of, ids_on
from timelines import keys
from timelines.domain.post import FOLLOWERS, UNLISTED, Post
from timelines.domain.query import Query, parsed
from timelines.repositories.search import (
    SEARCH_PARTITIONS,
    PostIndex,
    Sought,
    digests_of,
    partition_of,
    places,
)
from timelines.services.importing import LineFile, Tally
from timelines.services.importing_posts import PostsImport, PostsOptions
from timelines.services.importing_rows import RowRules
from timelines.services.search_walk import Walk

ON_ONE_SERVER = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
WORDS = ("ant", "bee", "cow", "日本", "本語", "#ant", "Ünder_score", "ไทย")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
IDS = st.integers(1, MAX_ID)
QUERIES = st.lists(st.sampled_from((*WORDS, '"ant bee"', "日", "from:one")), min_size=1, max_size=3).map(
    " ".join
)
AUTHORS = {"one": AccountId(1), "two": AccountId(2)}


async def found(index: PostIndex, query: Query, wanted: int = 3, *, resumed: bool = True) -> list[PostId]:
    """Every id: by one walk to its end, or `resumed` by a cursor after each round, as requests do."""
    sought = Sought(tuple(query.terms), AUTHORS.get(query.author or ""), query.lowest)
    walk, ids = Walk(index, sought, MAX_ID), list[PostId]()
    while not walk.ended:
        ids += await walk.ids(wanted)
        if resumed and walk.edge:
            walk = Walk(index, sought, walk.edge - 1)
    return ids


def expected(posts: Sequence[Post], query: Query) -> list[PostId]:
    """What reading every post finds."""
    author_id = AUTHORS.get(query.author or "")
    return sorted(
        (p.id for p in posts if query.matches(p.text) and author_id in (None, p.author_id)), reverse=True
    )


@ON_ONE_SERVER
@given(
    texts=st.dictionaries(IDS, st.tuples(TEXTS, st.sampled_from(list(AUTHORS.values()))), max_size=40),
    few=st.integers(1, 8),
    removed=st.integers(0, 10),
    query=QUERIES,
    wanted=st.integers(1, 40),
    steps=st.integers(1, 30),
    batch=st.integers(1, 50),
    resumed=st.booleans(),
)
async def test_the_index_narrows_to_what_reading_every_post_finds(
    store: Store,
    deployment: Deployment,
    texts: dict[int, tuple[str, AccountId]],
    few: int,
    removed: int,
    query: str,
    wanted: int,
    steps: int,
    batch: int,
    resumed: bool,
) -> None:
    deployment.empty()
    index, asked = PostIndex(store, few=few, steps=steps), parsed(query)
    posts = [Post(PostId(id), author_id, text) for id, (text, author_id) in texts.items()]
    for start in range(0, len(posts), batch):
        await index.add(posts[start : start + batch])
        await index.add(posts[start : start + batch])
    for post in posts[:removed]:
        await index.remove(post)
    ids = await found(index, asked, wanted, resumed=resumed)
    assert all(newer > older for newer, older in pairwise(ids))
    texts_of = {post.id: post for post in posts[removed:]}
    assert set(ids) <= set(texts_of)
    assert [id for id in ids if asked.matches(texts_of[id].text)] == expected(posts[removed:], asked)


@ON_ONE_SERVER
@given(
    ids=st.lists(IDS, unique=True, min_size=1, max_size=60), rare=st.integers(0, 8), steps=st.integers(1, 9)
)
async def test_a_term_over_its_cap_keeps_its_newest_and_narrows_no_further_back(
    store: Store, deployment: Deployment, ids: list[int], rare: int, steps: int
) -> None:
    deployment.empty()
    index = PostIndex(store, cap=2, steps=steps)
    posts = [
        Post(PostId(id), AUTHORS["one"], "often rare" if at < rare else "often") for at, id in enumerate(ids)
    ]
    for post in posts:
        await index.add([post])
    often = await found(index, parsed("often"))
    assert often == sorted(often, reverse=True)
    by_partition = [[id for id in sorted(ids) if partition_of(id) == n] for n in range(SEARCH_PARTITIONS)]
    assert set(often) >= {id for part in by_partition for id in part[-2:]}
    assert set(often) <= {id for part in by_partition for id in part[-3:]}
    both = await found(index, parsed("often rare"))
    whole = all(
        len([p for p in posts[:rare] if partition_of(p.id) == n]) <= 2 for n in range(SEARCH_PARTITIONS)
    )
    if whole:
        assert set(both) >= {post.id for post in posts[:rare]}


async def test_what_is_gone_leaves_nothing_behind(store: Store, deployment: Deployment) -> None:
    index = PostIndex(store)
    post = Post(PostId(77), AUTHORS["one"], "some words, 日本 #tag")
    await index.add([post])
    await index.remove(post)
    await index.remove(post)
    held = await store.gather([("EXISTS", key) for key in keys_of(post)])
    assert not any(held)


def keys_of(post: Post) -> list[Key]:
    """Where a post stands in the index."""
    return places(partition_of(post.id), digests_of(post))


async def test_all_keys_of_a_post_share_its_partition_and_hold_no_text() -> None:
    post = Post(PostId(1 << 50), AUTHORS["one"], "some {words} 日本 #tag")
    assert {key.tag for key in keys_of(post)} == {f"s{partition_of(post.id)}"}
    assert all(GRAMMAR.fullmatch(key) and "some" not in key for key in keys_of(post))
    assert len({partition_of(id) for id in range(1000)}) == SEARCH_PARTITIONS


# The whole way


async def search(services: Services, query: str, viewer: Person | None = None, **cut: int) -> list[PostId]:
    viewer_id = viewer.id if viewer else None
    return ids_on(await services.search.posts(parsed(query), viewer_id=viewer_id, **cut))


async def test_a_published_post_is_found_once_the_worker_has_seen_it(
    world: World, services: Services
) -> None:
    alice, bob = await world.people("alice", "bob")
    first = await alice.publishes("Don't panic, read the Guide")
    second = await bob.publishes("the guide says: don't #panic")
    await world.work()
    assert await search(services, "GUIDE") == ids_of([second, first])
    assert await search(services, '"the guide" don\'t') == ids_of([second, first])
    assert await search(services, '"read the guide"') == [first.id]
    assert await search(services, "guide from:alice") == [first.id]
    assert await search(services, "#panic") == [second.id]
    assert await search(services, "guide from:nobody") == []
    assert await search(services, "panic until:2020-01-01") == []
    assert await search(services, "panic since:2020-01-01") == ids_of([second, first])


async def test_pages_follow_each_other_without_gap_or_repetition(world: World, services: Services) -> None:
    alice = await world.person("alice")
    posts = [await alice.publishes(f"word {n}") for n in range(23)][::-1]
    await world.work()
    seen: list[PostId] = []
    before: int | None = None
    while True:
        page = await services.search.posts(parsed("word"), viewer_id=None, before=before, limit=5)
        seen += ids_on(page)
        before = page.next_before
        if before is None:
            break
        assert len(page.entries) == 5
    assert seen == ids_of(posts)


async def test_deleted_hidden_and_unlisted_posts_are_never_found_and_the_page_is_full(
    world: World, services: Services
) -> None:
    alice, bob, carol, dora = await world.people("alice", "bob", "carol", "dora")
    posts = [await alice.publishes(f"word {n}") for n in range(3)][::-1]
    for n in range(15):
        await bob.publishes(f"word {n}")
        await carol.publishes(f"word {n}")
    gone = await alice.publishes("word gone")
    ids = services.ids
    for audience in (UNLISTED, FOLLOWERS):
        await services.indexing.add([Post(ids.next(), alice.id, "word", audience=audience)])
    await world.work()
    await alice.deletes(gone)
    await services.accounts.suspend(account_id=bob.id)
    await services.accounts.delete(account_id=carol.id, now_ms=services.clock.now_ms())
    assert await search(services, "word", limit=3) == ids_of(posts)
    assert await search(services, "word", dora, limit=3) == ids_of(posts)
    assert await search(services, "word from:bob") == []
    await world.work()
    await services.accounts.reinstate(account_id=bob.id)
    assert len(await search(services, "word", limit=100)) == 18
    assert len(await found(services.repositories.index, parsed("word"))) == 18, "the sweep took carol's out"


async def test_private_blocked_and_muted_authors_are_not_found_and_come_back(
    world: World, services: Services
) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("word")
    await world.work()
    await bob.follows(alice)
    until_ms = services.clock.now_ms() + 60_000
    for hide in (keys.blocks, keys.blocked_by, keys.mutes):
        node, key = services.store.node(hide(bob.id)), hide(bob.id)
        await node.execute("ZADD", key, until_ms, alice.id)
        assert await search(services, "word", bob) == []
        assert await search(services, "word") == [post.id]
        await node.execute("ZREM", key, alice.id)
        assert await search(services, "word", bob) == [post.id]
    for private, shown in (("1", []), ("0", [post.id])):
        await services.repositories.accounts.edit(alice.id, {"private": private})
        for viewer in (None, bob, alice):
            assert await search(services, "word from:alice", viewer) == shown


async def test_a_post_deleted_before_the_worker_came_is_not_indexed(world: World, services: Services) -> None:
    alice = await world.person("alice")
    post = await alice.publishes("never mind")
    await alice.deletes(post)
    await world.work()
    assert await found(services.repositories.index, parsed("mind")) == []


async def test_a_rare_combination_comes_in_rounds_that_each_end(world: World, services: Services) -> None:
    """Steps of one: the request gives up long before the end, and its cursor goes on where it stopped."""
    alice = await world.person("alice")
    posts = [await alice.publishes("hay needle" if n == 0 else ("hay", "needle")[n % 2]) for n in range(30)]
    await world.work()
    index = PostIndex(services.store, steps=1)
    asked, before, pages = parsed("hay needle"), MAX_ID + 1, 0
    seen: list[PostId] = []
    while True:
        walk = Walk(index, Sought(tuple(asked.terms), None, 0), before - 1)
        seen += await walk.ids(5)
        pages += 1
        if not walk.edge:
            break
        assert walk.edge < before
        before = walk.edge
    assert pages > 1
    assert seen == [posts[0].id]


async def test_a_lost_index_comes_back_the_same(world: World, services: Services) -> None:
    people = await world.people("alice", "bob")
    posts = [await people[n % 2].publishes(f"word{n % 3} both 日本 #t{n % 2}") for n in range(9)]
    await people[0].deletes(posts[0])
    await world.work()
    queries = ("word1", "both 日本", "#t1", "from:bob word0")
    before = [await search(services, query) for query in queries]
    told = await services.completing.accounts("al", viewer_id=None, limit=5)
    places = [key for post in posts for key in keys_of(post)]
    places += [keys.search_names(n) for n in range(SEARCH_PARTITIONS)]
    places += [keys.search_named(n) for n in range(SEARCH_PARTITIONS)]
    places += [keys.search_tags(n) for n in range(SEARCH_PARTITIONS)]
    await services.store.gather([("DEL", key) for key in dict.fromkeys(places)])
    assert await search(services, "both") == []
    assert [await services.rebuilding.rebuild_search(person.id) for person in people] == [4, 4]
    assert [await search(services, query) for query in queries] == before
    assert await services.completing.accounts("al", viewer_id=None, limit=5) == told
    assert await services.completing.tags("t", limit=5) == ["t0", "t1"]


async def test_imported_posts_and_their_authors_are_found(services: Services, tmp_path: Path) -> None:
    row = {"id": "1", "author": "ann", "created_at": "2015-06-01T10:00:00Z", "text": "old #News"}
    (tmp_path / "posts").write_text(json.dumps(row))
    now_ms = services.clock.now_ms()
    options = PostsOptions(RowRules(max_graphemes=500, latest_ms=now_ms))
    await PostsImport.over(services).run(LineFile(tmp_path / "posts"), options, Tally(), now_ms)
    assert len(await search(services, "old since:2015-06-01 until:2015-06-01")) == 1
    assert [each.handle for each in await services.completing.accounts("an", viewer_id=None, limit=5)] == [
        "ann"
    ]
    assert await services.completing.tags("ne", limit=5) == ["news"]


async def test_while_the_servers_of_search_are_away_posts_are_owed_and_nothing_else_waits(
    redis_url: str,
) -> None:
    apart = RedisServer().start()
    urls = StoreUrls(redis_url, {"search": apart.url})
    try:
        async with open_services(urls, Configuration()) as services:
            world = World(services)
            alice = await world.person("alice")
            gone = await alice.publishes("found for a while")
            await world.work()
            assert await search(services, "found") == [gone.id]
            apart.kill()
            bob = await world.person("bob")
            await alice.deletes(gone)
            post = await bob.publishes("worth finding")
            await world.work()
            assert await bob.home_ids() == [post.id], "delivered as ever"
            with pytest.raises(StoreUnavailable):
                await search(services, "worth")
            with pytest.raises(StoreUnavailable):
                await services.indexing.pay_debts()
            apart.start()
            assert await services.indexing.pay_debts() == 1
            assert await services.indexing.pay_debts() == 0
            assert await search(services, "worth") == [post.id]
            await bob.deletes(post)
            await services.repositories.search_debts.owe(post.id)
            assert await services.indexing.pay_debts() == 0
            assert await found(services.repositories.index, parsed("worth")) == []
    finally:
        apart.stop()


# Names


async def names(services: Services, prefix: str, viewer: Person | None = None) -> list[str]:
    viewer_id = viewer.id if viewer else None
    shown = await services.completing.accounts(prefix, viewer_id=viewer_id, limit=8)
    return [author.handle for author in shown]


async def test_accounts_are_found_by_handle_and_by_each_word_of_their_name(
    world: World, services: Services
) -> None:
    alice, _bob = await world.people("alice", "bob")
    await services.accounts.edit_profile(
        account_id=alice.id, display_name="Ὀδυσσεύς 山田 太郎", bio="", link=""
    )
    for prefix in ("al", "ALICE", "ὀδυσ", "山田太", "太郎"):
        assert await names(services, prefix) == ["alice"], prefix
    assert await names(services, "lice") == []
    assert await names(services, "") == await names(services, "!") == []
    await services.accounts.edit_profile(account_id=alice.id, display_name="Just Alice", bio="", link="")
    assert await names(services, "山田") == []
    assert await names(services, "just ali") == ["alice"]


async def test_the_very_handle_comes_first_then_who_is_followed(world: World, services: Services) -> None:
    anna, annabel, annette, me = await world.people("anna", "annabel", "annette", "me")
    assert await names(services, "ann") == ["anna", "annabel", "annette"]
    await me.follows(annette)
    assert await names(services, "ann", me) == ["annette", "anna", "annabel"]
    assert await names(services, "anna", me) == ["anna", "annabel"]
    now_ms = services.clock.now_ms()
    await services.store.node(keys.blocks(me.id)).execute("ZADD", keys.blocks(me.id), now_ms, annabel.id)
    assert await names(services, "ann", me) == ["annette", "anna"]
    assert await names(services, "ann", anna) == ["anna", "annabel", "annette"]


async def test_suspended_and_deleted_accounts_are_not_completed(world: World, services: Services) -> None:
    alice, alan = await world.people("alice", "alan")
    await services.accounts.suspend(account_id=alice.id)
    await services.accounts.delete(account_id=alan.id, now_ms=services.clock.now_ms())
    assert await names(services, "al") == []
    await services.accounts.reinstate(account_id=alice.id)
    assert await names(services, "al") == ["alice"]
    assert await services.repositories.names.accounts(["@al"], 9) == [alice.id]


async def test_hashtags_in_use_are_completed_the_most_used_first(world: World, services: Services) -> None:
    alice = await world.person("alice")
    for text in ("#red", "#Redis", "#redis too", "#日本"):
        last = await alice.publishes(text)
    await world.work()
    assert await services.completing.tags("re", limit=5) == ["redis", "red"]
    assert await services.completing.tags("red", limit=5) == ["red", "redis"]
    assert await services.completing.tags("日", limit=5) == ["日本"]
    await alice.deletes(last)
    assert await services.completing.tags("日", limit=5) == []


async def test_hashtags_that_strangers_cannot_read_are_not_completed(
    world: World, services: Services
) -> None:
    """Of private and suspended accounts, unlisted and for followers: whoever asks."""
    alice, bob, carol = await world.people("alice", "bob", "carol")
    for person in (alice, bob):
        await person.publishes("#seen and #seenoften")
    for _ in range(4):
        await alice.publishes("#secretplan of #seenoften")
    await bob.publishes("#secretaside", audience=UNLISTED)
    await bob.publishes("#secretwish", audience=FOLLOWERS)
    await carol.publishes("#secretspam")
    await world.work()
    assert await services.completing.tags("se", limit=5) == ["seenoften", "secretplan", "seen", "secretspam"]
    await alice.locks()
    await services.accounts.suspend(account_id=carol.id)
    assert await services.completing.tags("secret", limit=5) == []
    assert await services.completing.tags("se", limit=5) == ["seenoften", "seen"]


@pytest.mark.parametrize("option", ["--search", "--all"])
def test_the_command_says_what_it_put_back(redis_urls, settings, capsys, option: str) -> None:
    settings.REDIS_URL, settings.REDIS_COMPONENT_URLS = redis_urls.default, redis_urls.placed
    call_command("rebuild_timelines", option)
    assert "Put 0 posts of 0 accounts back into the search index." in capsys.readouterr().out
    call_command("rebuild_timelines", option, "--dry-run")
    assert "search index" in capsys.readouterr().out
