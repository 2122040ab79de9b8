"""A post's set of reactions and the account's index: replacing, synchronising, sweeping and deleting."""

from collections.abc import Awaitable, Callable

import pytest

from socialsite.ids import AccountId, PostId, id_at
from socialsite.store import Key, Store
from timelines import keys
from timelines.posts.post import Post
from timelines.reactions.repository import MAX_COMPARISONS, ReactionKind, Reactions

ALICE, BOB = AccountId(7), AccountId(8)
NOW_MS = 1_795_000_000_000
POST = PostId(id_at(NOW_MS))
Meanwhile = Callable[[], Awaitable[object]]


class Interrupted(Reactions):
    """Run the next `meanwhile` action after each read of a post's set."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.meanwhile: list[Meanwhile] = []
        self.looks = 0

    async def find_score(self, kind: ReactionKind, post_id: PostId, account_id: AccountId) -> int | None:
        score = await super().find_score(kind, post_id, account_id)
        self.looks += 1
        if self.meanwhile:
            await self.meanwhile.pop(0)()
        return score


@pytest.fixture
def reactions(store: Store) -> Interrupted:
    return Interrupted(store)


async def stands(store: Store, key: Key) -> list[tuple[int, int]]:
    """Return the stored (member, score) pairs."""
    reply = await store.node(key).execute("ZRANGE", key, 0, -1, "WITHSCORES")
    return [(int(member), int(float(score))) for member, score in zip(reply[::2], reply[1::2], strict=True)]


async def liked(store: Store, at: int = 5) -> None:
    key = keys.likes(POST)
    await store.node(key).execute("ZADD", key, at, ALICE)


async def unliked(store: Store) -> None:
    key = keys.likes(POST)
    await store.node(key).execute("ZREM", key, ALICE)


async def test_a_dead_boost_is_replaced_and_the_current_boost_is_returned(store: Store, reactions: Reactions) -> None:
    key, (dead, fresh, late) = (
        keys.boosts(POST),
        (id_at(NOW_MS + 2_000), id_at(NOW_MS + 3_000), id_at(NOW_MS + 4_000)),
    )
    assert await reactions.replace_boost(POST, ALICE, dead, fresh) is None
    assert await stands(store, key) == []
    await store.node(key).execute("ZADD", key, dead, ALICE)
    assert await reactions.replace_boost(POST, ALICE, dead, fresh) == fresh
    assert await reactions.replace_boost(POST, ALICE, dead, late) == fresh
    assert await stands(store, key) == [(ALICE, fresh)]


async def test_sync_index_returns_whether_the_reaction_exists(store: Store, reactions: Interrupted) -> None:
    index = keys.liked_posts(ALICE)
    assert await reactions.sync_index(ReactionKind.LIKE, POST, ALICE) is False
    await liked(store)
    assert await reactions.sync_index(ReactionKind.LIKE, POST, ALICE) is True
    assert await stands(store, index) == [(POST, 5)]
    await unliked(store)
    assert await reactions.sync_index(ReactionKind.LIKE, POST, ALICE) is False
    assert await stands(store, index) == []
    assert reactions.looks == 3 * 2  # once before the write and once after it


async def test_a_boost_is_indexed_by_the_time_of_its_id(store: Store, reactions: Reactions) -> None:
    key = keys.boosts(POST)
    await store.node(key).execute("ZADD", key, id_at(NOW_MS + 2_000) + 1, ALICE)
    assert await reactions.sync_index(ReactionKind.BOOST, POST, ALICE) is True
    assert await stands(store, keys.boosted_posts(ALICE)) == [(POST, NOW_MS + 2_000)]


async def test_a_reaction_removed_during_its_indexing_is_not_indexed(store: Store, reactions: Interrupted) -> None:
    await liked(store)
    reactions.meanwhile = [lambda: unliked(store)]
    assert await reactions.sync_index(ReactionKind.LIKE, POST, ALICE) is False
    assert await stands(store, keys.liked_posts(ALICE)) == []
    assert reactions.looks == 3


async def test_a_reaction_added_again_during_its_indexing_is_indexed(store: Store, reactions: Interrupted) -> None:
    reactions.meanwhile = [lambda: liked(store, 5), lambda: unliked(store), lambda: liked(store, 9)]
    assert await reactions.sync_index(ReactionKind.LIKE, POST, ALICE) is True
    assert await stands(store, keys.liked_posts(ALICE)) == [(POST, 9)]
    assert reactions.looks == 5


async def test_the_indexing_of_a_changing_reaction_is_repeated_a_limited_number_of_times(
    store: Store, reactions: Interrupted
) -> None:
    reactions.meanwhile = [lambda: liked(store), lambda: unliked(store)] * MAX_COMPARISONS
    await reactions.sync_index(ReactionKind.LIKE, POST, ALICE)
    assert reactions.looks == MAX_COMPARISONS + 1


async def test_a_sweep_reads_the_first_entries_of_an_index_up_to_its_limit(store: Store, reactions: Reactions) -> None:
    key, posts = keys.liked_posts(ALICE), [PostId(POST + n) for n in range(4)]
    await store.node(key).execute("ZADD", key, *(part for n, id in enumerate(posts) for part in (9 - n, id)))
    assert await reactions.reacted_post_ids(ReactionKind.LIKE, ALICE, 2) == [posts[3], posts[2]]
    assert await reactions.reacted_post_ids(ReactionKind.LIKE, ALICE, 9) == posts[::-1]
    await reactions.remove_from_index(ReactionKind.LIKE, ALICE, [])
    await reactions.remove_from_index(ReactionKind.LIKE, ALICE, [posts[3], posts[1]])
    assert await reactions.reacted_post_ids(ReactionKind.LIKE, ALICE, 9) == [posts[2], posts[0]]
    assert await reactions.reacted_post_ids(ReactionKind.BOOST, ALICE, 9) == []


async def test_the_newest_boosts_to_delete_are_returned_first(store: Store, reactions: Reactions) -> None:
    key, boosts = keys.boosts_to_delete(POST), [PostId(id_at(NOW_MS + 2_000 + n)) for n in range(3)]
    for account_id, boost in enumerate(boosts, start=1):
        await store.node(key).execute("ZADD", key, boost, account_id)
    fading = [Post(id, AccountId(n), "", boost_of=POST) for n, id in enumerate(boosts, start=1)][::-1]
    assert await reactions.boosts_to_delete(POST, 2) == (fading[:2], True)
    assert await reactions.boosts_to_delete(POST, 3) == (fading, False)
    assert await reactions.boosts_to_delete(POST, 4) == (fading, False)
    await reactions.mark_boosts_deleted([])
    await reactions.mark_boosts_deleted(fading[:2])
    assert await reactions.boosts_to_delete(POST, 2) == (fading[2:], False)
