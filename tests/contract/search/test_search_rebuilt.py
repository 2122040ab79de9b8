"""Search after the loss of its index, after an upgrade, and while its servers are unavailable."""

from zlib import crc32

import pytest
from django.core.management import call_command

from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUnavailable, StoreUrls
from tests.support.redis_server import RedisServer
from tests.support.searching import keys_of, search_index, search_post_ids
from tests.support.world import Person, World, ids_of
from timelines import keys
from timelines.posts.post import Post
from timelines.search.query import parse_query
from timelines.search.repository import (
    ADD_POSTINGS_SCRIPT,
    RARE_TERM_CAP,
    SEARCH_PARTITIONS,
    TERM_CAP,
    pack_ids,
    partition_of_post,
    term_digest,
    term_keys,
)


async def test_a_lost_index_is_rebuilt_equal(world: World, services: Services) -> None:
    people = await world.people("alice", "bob")
    posts = [await people[n % 2].publishes(f"word{n % 3} both 日本 #t{n % 2}") for n in range(9)]
    await people[0].deletes(posts[0])
    await world.deliver_all()
    queries = ("word1", "both 日本", "#t1", "from:bob word0")
    before = [await search_post_ids(services, query) for query in queries]
    completions = await services.autocomplete.complete_accounts("al", viewer_id=None, limit=5)
    places = [key for post in posts for key in keys_of(post)]
    places += [keys.search_name_prefixes(n) for n in range(SEARCH_PARTITIONS)]
    places += [keys.search_prefixes_of_account(n) for n in range(SEARCH_PARTITIONS)]
    places += [keys.search_hashtags(n) for n in range(SEARCH_PARTITIONS)]
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
    terms = [term_digest(term) for term in ("café", "île", "#île")]
    for post in posts:
        added = (part for term in terms for part in (term, pack_ids([post.id])))
        add = ADD_POSTINGS_SCRIPT.command(
            term_keys(partition_of_post(post.id), terms), [TERM_CAP, RARE_TERM_CAP, *added]
        )
        await services.store.component("search").execute_all([add])
    await services.repositories.search_names.set_names({author.id: ["@alice", "josé"]})
    number = crc32("île".encode()) % SEARCH_PARTITIONS
    await services.store.execute_all(
        [("DEL", keys.search_hashtags(number)), ("ZADD", keys.search_hashtags(number), 0, "île")]
    )


async def test_posts_stay_pending_while_the_search_servers_are_unavailable(
    redis_url: str,
) -> None:
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
