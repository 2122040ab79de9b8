"""Search by readers, and after a rebuild of the index."""

from pathlib import Path
from zlib import crc32

import pytest
from django.core.management import call_command
from msgspec.structs import replace

from socialsite.container import Services
from socialsite.ids import MAX_ID, PostId
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUnavailable, StoreUrls
from tests.support.imports import import_old_post
from tests.support.redis_server import RedisServer
from tests.support.search import keys_of, search_index, search_post_ids
from tests.support.world import Person, World, ids_of, ids_on
from timelines import keys
from timelines.posts.post import FOLLOWERS, UNLISTED, MediaAttachment, Poll, Post, PostDetails
from timelines.search import repository
from timelines.search.partition_merge import PartitionMerge
from timelines.search.query import parse_query


async def test_a_published_post_is_found_after_the_worker_has_indexed_it(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    first = await alice.publishes("Don't panic, read the Guide")
    second = await bob.publishes("the guide says: don't #panic")
    await world.deliver_all()
    assert await search_post_ids(services, "GUIDE") == ids_of([second, first])
    assert await search_post_ids(services, '"the guide" don\'t') == ids_of([second, first])
    assert await search_post_ids(services, '"read the guide"') == [first.id]
    assert await search_post_ids(services, "guide from:alice") == [first.id]
    assert await search_post_ids(services, "#panic") == [second.id]
    assert await search_post_ids(services, "guide from:nobody") == []
    assert await search_post_ids(services, "panic until:2020-01-01") == []
    assert await search_post_ids(services, "panic since:2020-01-01") == ids_of([second, first])


async def test_poll_options_and_descriptions_of_pictures_are_found_and_filtered(
    world: World, alice: Person, bob: Person, services: Services
) -> None:
    post = await bob.publishes("Choose", details=PostDetails(poll=Poll(("Cats", "Spiders"), False, MAX_ID)))
    await world.deliver_all()
    assert await search_post_ids(services, "spiders") == [post.id]
    assert len((await services.reading.public(viewer_id=alice.id)).entries) == 1
    await services.filters.add(account_id=alice.id, phrase="spiders", action="hide")
    assert (await services.reading.public(viewer_id=alice.id)).entries == ()
    picture = MediaAttachment(1, "secret", 8, 8, "", "two spiders on a wall")
    assert replace(post, details=PostDetails("Bugs", media=(picture,))).searchable_text.split("\n") == [
        "Bugs",
        "Choose",
        "two spiders on a wall",
    ]


def test_from_me_is_one_whole_word_anywhere_in_a_query() -> None:
    for text, author in (
        ("from:me tea", "anna"),
        ("tea FROM:ME", "anna"),
        ("from:mel tea", "mel"),
        ("tea from:me_", "me_"),
    ):
        assert parse_query(text, me="anna").author == author
    assert parse_query("tea from:me").author == "me"


async def test_pages_are_contiguous_without_duplicates(world: World, alice: Person, services: Services) -> None:
    posts = [await alice.publishes(f"word {n}") for n in range(23)][::-1]
    await world.deliver_all()
    seen: list[PostId] = []
    before: int | None = None
    while True:
        page = await services.search.search_posts(parse_query("word"), viewer_id=None, before=before, limit=5)
        seen += ids_on(page)
        before = page.next_before
        if before is None:
            break
        assert len(page.entries) == 5
    assert seen == ids_of(posts)


async def test_a_page_is_full_without_deleted_hidden_and_unlisted_posts(world: World, services: Services) -> None:
    alice, bob, carol, dora = await world.people("alice", "bob", "carol", "dora")
    posts = [await alice.publishes(f"word {n}") for n in range(3)][::-1]
    for n in range(15):
        await bob.publishes(f"word {n}")
        await carol.publishes(f"word {n}")
    gone = await alice.publishes("word gone")
    ids = services.ids
    for audience in (UNLISTED, FOLLOWERS):
        await services.search_indexer.add_posts([Post(ids.next_id(), alice.id, "word", audience=audience)])
    await world.deliver_all()
    await alice.deletes(gone)
    await services.accounts.suspend(account_id=bob.id)
    await services.accounts.delete(account_id=carol.id)
    assert await search_post_ids(services, "word", limit=3) == ids_of(posts)
    assert await search_post_ids(services, "word", dora, limit=3) == ids_of(posts)
    assert await search_post_ids(services, "word from:bob") == []
    await world.deliver_all()
    await services.accounts.reinstate(account_id=bob.id)
    assert len(await search_post_ids(services, "word", limit=100)) == 18
    assert len(await search_index(services.repositories.search_index, parse_query("word"))) == 18, (
        "the sweep took carol's out"
    )


async def test_private_blocked_and_muted_authors_are_hidden_and_shown_again(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("word")
    await world.deliver_all()
    await bob.follows(alice)
    until_ms = services.clock.now_ms() + 60_000
    for hide in (keys.blocks, keys.blocked_by, keys.mutes):
        node, key = services.store.node(hide(bob.id)), hide(bob.id)
        await node.execute("ZADD", key, until_ms, alice.id)
        assert await search_post_ids(services, "word", bob) == []
        assert await search_post_ids(services, "word") == [post.id]
        await node.execute("ZREM", key, alice.id)
        assert await search_post_ids(services, "word", bob) == [post.id]
    for private, shown in (("1", []), ("0", [post.id])):
        await services.repositories.accounts.edit(alice.id, {"private": private})
        for viewer in (None, bob, alice):
            assert await search_post_ids(services, "word from:alice", viewer) == shown


async def test_a_post_deleted_before_its_job_is_not_indexed(world: World, alice: Person, services: Services) -> None:
    post = await alice.publishes("never mind")
    await alice.deletes(post)
    await world.deliver_all()
    assert await search_index(services.repositories.search_index, parse_query("mind")) == []


async def test_a_search_for_a_rare_combination_ends_in_bounded_rounds(world: World, services: Services) -> None:
    """With one step per round, each request ends early, and its cursor continues there."""
    alice = await world.person("alice")
    posts = [await alice.publishes("hay needle" if n == 0 else ("hay", "needle")[n % 2]) for n in range(30)]
    await world.deliver_all()
    index = repository.PostIndex(services.store, steps=1)
    query, before, pages = parse_query("hay needle"), MAX_ID + 1, 0
    seen: list[PostId] = []
    while True:
        walk = PartitionMerge(index, repository.SearchTerms(tuple(query.terms), None, 0), before - 1)
        seen += await walk.next_ids(5)
        pages += 1
        if not walk.lowest_decided_id:
            break
        assert walk.lowest_decided_id < before
        before = walk.lowest_decided_id
    assert pages > 1
    assert seen == [posts[0].id]


async def test_a_word_is_found_with_and_without_its_accents(world: World, alice: Person, services: Services) -> None:
    texts = ("Café de la Paix #Île", "cafe in Zu\u0308rich #ile", "ещё за́мок, мой", "がんばって")
    first, second, third, _last = [await alice.publishes(text) for text in texts]
    await world.deliver_all()
    for word in ("cafe", "CAFÉ", "cafe\u0301", '"cafe"', "#île", "#ile"):
        assert await search_post_ids(services, word) == ids_of([second, first]), word
    for query in ("zurich", "Zürich café", '"CAFÉ IN ZURICH"'):
        assert await search_post_ids(services, query) == [second.id], query
    assert (
        await search_post_ids(services, "еще замок мой") == await search_post_ids(services, "ещё за́мок") == [third.id]
    )
    assert await search_post_ids(services, "мои") == await search_post_ids(services, "か") == []
    await alice.deletes(first)
    assert await search_index(services.repositories.search_index, parse_query("cafe")) == [second.id]


async def test_imported_posts_and_their_authors_are_found(services: Services, tmp_path: Path) -> None:
    await import_old_post(services, tmp_path, author="ann", text="old #News")
    assert len(await search_post_ids(services, "old since:2015-06-01 until:2015-06-01")) == 1
    assert [each.handle for each in await services.autocomplete.complete_accounts("an", viewer_id=None, limit=5)] == [
        "ann"
    ]
    assert await services.autocomplete.complete_hashtags("ne", limit=5) == ["news"]


async def test_a_lost_index_is_rebuilt_equal(world: World, services: Services) -> None:
    people = await world.people("alice", "bob")
    posts = [await people[n % 2].publishes(f"word{n % 3} both 日本 #t{n % 2}") for n in range(9)]
    await people[0].deletes(posts[0])
    await world.deliver_all()
    queries = ("word1", "both 日本", "#t1", "from:bob word0")
    before = [await search_post_ids(services, query) for query in queries]
    completions = await services.autocomplete.complete_accounts("al", viewer_id=None, limit=5)
    places = [key for post in posts for key in keys_of(post)]
    places += [keys.search_name_prefixes(n) for n in range(repository.SEARCH_PARTITIONS)]
    places += [keys.search_prefixes_of_account(n) for n in range(repository.SEARCH_PARTITIONS)]
    places += [keys.search_hashtags(n) for n in range(repository.SEARCH_PARTITIONS)]
    await services.store.execute_all([("DEL", key) for key in dict.fromkeys(places)])
    assert await search_post_ids(services, "both") == []
    assert await services.rebuilds.rebuild_search([person.id for person in people]) == 8
    assert [await search_post_ids(services, query) for query in queries] == before
    assert await services.autocomplete.complete_accounts("al", viewer_id=None, limit=5) == completions
    assert await services.autocomplete.complete_hashtags("t", limit=5) == ["t0", "t1"]


async def test_posts_indexed_by_an_earlier_release_are_found_after_a_rebuild(world: World, services: Services) -> None:
    """That release kept accents in words, names and hashtags; its entries are not read any more."""
    alice = await world.person("alice")
    await services.accounts.edit_profile(account_id=alice.id, display_name="José", bio="", link="")
    posts = [await alice.publishes("Café #Île") for _ in range(2)]
    await world.deliver_all()
    await as_an_earlier_release_left_it(services, alice, posts)
    assert await search_post_ids(services, "cafe") == await search_post_ids(services, "#ile") == []
    assert await services.autocomplete.complete_accounts("jos", viewer_id=None, limit=5), "by its old beginning"
    assert await services.autocomplete.complete_accounts("jose", viewer_id=None, limit=5) == []
    for _ in range(2):
        assert await services.rebuilds.rebuild_search([alice.id]) == 2
        for query in ("cafe", "café", "#ile", "#Île"):
            assert await search_post_ids(services, query) == ids_of(posts[::-1]), query
        for name in ("jose", "josé"):
            (author,) = await services.autocomplete.complete_accounts(name, viewer_id=None, limit=5)
            assert author.id == alice.id
        for tag in ("i", "il", "île"):
            assert await services.autocomplete.complete_hashtags(tag, limit=5) == ["île"]
    for post in posts:
        await alice.deletes(post)
    assert (
        await search_post_ids(services, "café")
        == await search_index(services.repositories.search_index, parse_query("café"))
        == []
    )


async def as_an_earlier_release_left_it(services: Services, author: Person, posts: list[Post]) -> None:
    """Index "Café #Île" with accents under its terms, a name and a hashtag."""
    await services.store.execute_all([("DEL", key) for post in posts for key in keys_of(post)])
    terms = [repository.term_digest(term) for term in ("café", "île", "#île")]
    for post in posts:
        added = (part for term in terms for part in (term, repository.pack_ids([post.id])))
        add = repository.ADD_POSTINGS_SCRIPT.command(
            repository.term_keys(repository.partition_of_post(post.id), terms),
            [repository.TERM_CAP, repository.RARE_TERM_CAP, *added],
        )
        await services.store.component("search").execute_all([add])
    await services.repositories.search_names.set_names({author.id: ["@alice", "josé"]})
    number = crc32("île".encode()) % repository.SEARCH_PARTITIONS
    await services.store.execute_all(
        [("DEL", keys.search_hashtags(number)), ("ZADD", keys.search_hashtags(number), 0, "île")]
    )


async def test_posts_stay_pending_while_the_search_servers_are_unavailable(redis_url: str) -> None:
    apart = RedisServer().start()
    urls = StoreUrls(redis_url, {"search": apart.url})
    try:
        async with open_services(urls, ServiceConfig()) as services:
            world = World(services)
            alice = await world.person("alice")
            gone = await alice.publishes("found for a while")
            await world.deliver_all()
            assert await search_post_ids(services, "found") == [gone.id]
            apart.kill()
            bob = await world.person("bob")
            await alice.deletes(gone)
            post = await bob.publishes("worth finding")
            await world.deliver_all()
            assert await bob.home_ids() == [post.id], "delivered as ever"
            with pytest.raises(StoreUnavailable):
                await search_post_ids(services, "worth")
            with pytest.raises(StoreUnavailable):
                await services.search_indexer.add_pending()
            apart.start()
            assert await services.search_indexer.add_pending() == 1
            assert await services.search_indexer.add_pending() == 0
            assert await search_post_ids(services, "worth") == [post.id]
            await bob.deletes(post)
            await services.repositories.pending_search_posts.add(post.id)
            assert await services.search_indexer.add_pending() == 0
            assert await search_index(services.repositories.search_index, parse_query("worth")) == []
    finally:
        apart.stop()


@pytest.mark.parametrize("option", ["--search", "--all"])
@pytest.mark.usefixtures("here")
def test_the_command_reports_the_rebuilt_index(capsys, option: str) -> None:
    call_command("rebuild_timelines", option)
    assert "Put 0 posts of 0 accounts back into the search index." in capsys.readouterr().out
    call_command("rebuild_timelines", option, "--dry-run")
    assert "search index" in capsys.readouterr().out
