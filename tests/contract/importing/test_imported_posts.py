"""Import repositories: deleted posts, caps, and the accounts with most followers."""

from socialsite.ids import AccountId, PostId
from socialsite.store import Store
from tests.support.nodes import run_command
from timelines import keys
from timelines.importing.repository import GRAPH_RANKS_CAP, GraphRanks, ImportedPosts
from timelines.posts.post import Post

ALICE = AccountId(7)
POSTS = [Post(PostId(n), ALICE, f"post {n}") for n in range(1, 6)]


async def test_deleted_and_superseded_posts_are_not_written_again(store: Store) -> None:
    imported = ImportedPosts(store, profile_cap=10)
    states = {1: "deleted:7", 2: "superseded", 3: "pending"}
    for number, state in states.items():
        await run_command(store, "SET", keys.post(PostId(number)), state)
    assert await imported.write(POSTS) == POSTS[2:]
    assert await imported.write(POSTS) == POSTS[2:]
    assert await run_command(store, "GET", keys.post(PostId(1))) == b"deleted:7"
    assert await run_command(store, "GET", keys.post(PostId(2))) == b"superseded"


async def test_a_profile_keeps_the_newest_imported_posts(store: Store) -> None:
    imported, profile = ImportedPosts(store, profile_cap=3), keys.author_timeline(ALICE)
    await imported.place(POSTS[:3])
    assert await run_command(store, "ZRANGE", profile, 0, -1) == [b"1", b"2", b"3"]
    await imported.place(POSTS)
    assert await run_command(store, "ZRANGE", profile, 0, -1) == [b"3", b"4", b"5"]


async def test_the_ranking_keeps_the_accounts_with_most_followers(store: Store) -> None:
    ranks, key = GraphRanks(store), keys.imported_graph_ranks()
    await ranks.record((10 * n, n) for n in range(1, GRAPH_RANKS_CAP + 1))
    assert await run_command(store, "ZCARD", key) == GRAPH_RANKS_CAP
    await ranks.record([(5, GRAPH_RANKS_CAP + 1)])
    assert await run_command(store, "ZCARD", key) == GRAPH_RANKS_CAP
    assert await run_command(store, "ZRANGE", key, 0, 0) == [b"20"]
    led = [5, *range(10 * GRAPH_RANKS_CAP, 0, -10)]
    for limit in (0, 1, 1000, 2500):
        assert await ranks.most_followed(limit) == led[:limit]


async def test_the_ranking_of_a_small_graph_contains_all_accounts(store: Store) -> None:
    ranks = GraphRanks(store)
    assert await ranks.most_followed(3) == []
    await ranks.record([(1, 5), (2, 9)])
    assert await ranks.most_followed(3) == [2, 1]
