"""The number of serial round trips of threads, lists and purges depends neither on items nor, once read, on levels."""

from typing import cast

import pytest

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.store import Store
from tests.support.nodes import SerialNode, SingleNodeTopology
from tests.support.reactions import PersonReactions
from tests.support.world import Person, World
from timelines.api.pagination import ApiPage
from timelines.lists.rules import ListRule
from timelines.pages.page import PagePart
from timelines.posts.post import Post, PostDetails

DEPTH = 12
PAGE = 30
WARM_THREAD_TRIPS = 4
"""Replies and ancestors, the end of the walk, posts, authors that are unknown before the posts are read."""

TRIPS_PER_BATCH_OF_POSTS = 10
"""Ten posts of a purged account share these; all other kinds of items share theirs."""


@pytest.fixture
def node(redis_url: str) -> SerialNode:
    return SerialNode(redis_url)


def process_on(node: SerialNode) -> Services:
    """Return the services of a new process, whose caches are empty."""
    return Services(Store(SingleNodeTopology(node)), FixedClock(1_900_000_000_000), ServiceConfig())


async def chain_of(author: Person, length: int) -> list[Post]:
    posts = [await author.publishes("first")]
    for number in range(length):
        posts.append(await author.publishes(f"answer {number}", in_reply_to=posts[-1]))
    return posts


async def test_a_thread_that_was_read_before_takes_the_same_few_round_trips_at_any_depth(node: SerialNode) -> None:
    alice = await World(process_on(node)).person("alice")
    posts = await chain_of(alice, DEPTH)
    beside = await alice.publishes("another answer", in_reply_to=posts[1])
    expected = [*(post.id for post in posts[1:]), beside.id]
    reader = process_on(node)
    trips = []
    for _ in range(2):
        start = node.trips
        page = await reader.threads.load_page(posts[0], viewer_id=None)
        trips.append(node.trips - start)
        assert [entry.id for entry in page.replies] == expected
    cold, warm = trips
    assert DEPTH <= cold <= DEPTH + WARM_THREAD_TRIPS
    assert warm <= WARM_THREAD_TRIPS
    # New replies below known ones are found, and a deleted one disappears.
    await alice.deletes(beside)
    newest = await alice.publishes("below", in_reply_to=posts[-1])
    page = await reader.threads.load_page(posts[0], viewer_id=None)
    assert [entry.id for entry in page.replies] == [*expected[:-1], newest.id]
    middle = await reader.threads.load_page(posts[0], viewer_id=None, after=posts[3].id, limit=4)
    assert [entry.id for entry in middle.replies] == [post.id for post in posts[4:8]]
    await node.close()


async def test_a_home_with_quotes_takes_the_round_trips_of_a_home_without(node: SerialNode) -> None:
    """In a new process both take one more for authors that are unknown before the posts are read."""
    world = World(process_on(node))
    alice, bob, carol, dora = await world.people("alice", "bob", "carol", "dora")
    await carol.follows(bob)
    await dora.follows(alice)
    quoted = await dora.publishes("quoted")
    await bob.publishes("look", details=PostDetails(quote_of=quoted.id))
    await alice.publishes("plain")
    await world.deliver_all()
    trips: dict[str, list[int]] = {}
    for viewer in (carol, dora):
        reader = process_on(node)
        for _ in range(2):
            start = node.trips
            page = await reader.reading.home(viewer.id)
            trips.setdefault(viewer.handle, []).append(node.trips - start)
        assert any(entry.quote for entry in page.entries) == (viewer is carol)
    assert trips["carol"] == trips["dora"]
    await node.close()


async def test_a_new_process_reads_answered_posts_for_pages_only_and_not_for_apps(node: SerialNode) -> None:
    alice, bob, reader = await World(process_on(node)).people("alice", "bob", "reader")
    await reader.follows(bob)
    question = await alice.publishes("a question")
    await bob.publishes("an answer", in_reply_to=question)
    await World(process_on(node)).deliver_all()
    parts: list[PagePart] = [{}, ApiPage(None, None, None, PAGE).part]
    parents, trips = [], []
    for part in parts:
        process, start = process_on(node), node.trips
        (entry,) = (await process.reading.home(reader.id, **part)).entries
        parents.append(entry.parent)
        trips.append(node.trips - start)
    assert parents == [question, None]
    assert trips[1] < trips[0]
    await node.close()


async def test_a_home_with_a_hidden_post_is_not_read_again_as_a_whole(node: SerialNode) -> None:
    """Most readers have muted somebody, so a second read of hundreds of ids would cost as much as the page."""
    services = process_on(node)
    clock = cast(FixedClock, services.clock)
    alice, bob, reader = await World(services).people("alice", "bob", "reader")
    for author in (alice, bob):
        await reader.follows(author)
    for number in range(PAGE + 40):
        clock.advance(60_000)
        await alice.publishes(f"post {number}")
        if number == PAGE + 20:
            await bob.publishes("among the newest")
    await World(services).deliver_all()
    trips = []
    for mutes in (False, True):
        if mutes:
            await reader.mutes(bob)
        await services.reading.home(reader.id, limit=PAGE)
        start = node.trips
        page = await services.reading.home(reader.id, limit=PAGE)
        trips.append(node.trips - start)
        assert len(page.entries) == PAGE
    without, with_hidden_post = trips
    assert with_hidden_post <= without + 1, "the ids were read with the first page; one trip hydrates the rest"
    await node.close()


@pytest.mark.parametrize("leaf_count", [2, 6])
async def test_the_members_of_a_virtual_list_take_one_round_trip(node: SerialNode, leaf_count: int) -> None:
    services = process_on(node)
    alice, bob = await World(services).people("alice", "bob")
    leaves = [await alice.makes_list(bob, title=f"leaf {number}") for number in range(leaf_count)]
    union = await services.lists.create(
        owner_id=alice.id,
        title="all",
        now_ms=services.clock.now_ms(),
        operation="union",
        parts=[leaf.id for leaf in leaves],
    )
    start = node.trips
    rule: ListRule = await services.lists.rule(union)
    assert node.trips - start <= 1, "the parts of a list are read together"
    start = node.trips
    assert await rule.member_ids() == [bob.id]
    assert node.trips - start == 1
    await node.close()


async def test_purging_twenty_items_of_each_kind_takes_few_round_trips_more_than_purging_two(node: SerialNode) -> None:
    services = process_on(node)
    acts, trips = PersonReactions(services), []
    for count in (2, 20):
        author, reader = await World(services).people(f"author{count}", f"reader{count}")
        for number in range(count):
            post = await author.publishes(f"post {number}")
            await acts.likes(reader, post)
            await acts.boosts(reader, post)
            await reader.makes_list(author, title=f"list {number}")
        await World(services).deliver_all()
        start = node.trips
        while await services.purging.purge(reader.id):
            pass
        trips.append(node.trips - start)
    few, many = trips
    assert many <= few + TRIPS_PER_BATCH_OF_POSTS, trips
    await node.close()
