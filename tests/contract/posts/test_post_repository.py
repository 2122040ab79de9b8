"""Posts and idempotency keys in the repository: return values and stored data."""

from collections.abc import AsyncIterator, Collection
from pathlib import Path

import pytest

from socialsite.ids import AccountId, PostId, id_at
from socialsite.store import Reply, Store
from timelines import keys
from timelines.post_archive.sqlite import SQLiteArchive
from timelines.posts.post import Post, encode_post
from timelines.posts.repository import (
    IDEMPOTENCY_TTL_S,
    RESERVATION_TTL_S,
    IdempotencyRecord,
    PostRepository,
    WriteResult,
)
from timelines.posts.stored_values import PostState

ALICE, BOB = AccountId(7), AccountId(8)
FIRST, SECOND, THIRD = (id_at(1_795_000_000_000, n) for n in range(3))
POST = Post(FIRST, ALICE, "hello")
ANSWER = Post(SECOND, ALICE, "an answer", in_reply_to=FIRST)
BOOST = Post(THIRD, ALICE, "", boost_of=FIRST)
MINE, OTHERS = IdempotencyRecord(FIRST, "abc"), IdempotencyRecord(SECOND, "d:ef")


class Returning(SQLiteArchive):
    """An archive that restores `returning` to the store during a read."""

    def __init__(self, path: Path, store: Store) -> None:
        super().__init__(path)
        self._store = store
        self.returning: list[Post] = []

    async def get(self, post_ids: Collection[int]) -> dict[int, bytes]:
        bodies = await super().get(post_ids)
        await self._store.execute_all([("SET", keys.post(post.id), encode_post(post)) for post in self.returning])
        return bodies


@pytest.fixture
async def archive(store: Store, tmp_path: Path) -> AsyncIterator[Returning]:
    opened = Returning(tmp_path / "archive.sqlite3", store)
    await opened.put([])
    yield opened
    await opened.close()


@pytest.fixture
def posts(store: Store, archive: Returning) -> PostRepository:
    return PostRepository(store, archive)


async def held(store: Store, post_id: PostId) -> Reply:
    key = keys.post(post_id)
    return await store.node(key).execute("GET", key)


async def lay(store: Store, post_id: PostId, value: bytes) -> None:
    key = keys.post(post_id)
    await store.node(key).execute("SET", key, value)


async def test_an_id_is_reserved_once_and_for_an_hour(store: Store, posts: PostRepository) -> None:
    key = keys.post(FIRST)
    assert await posts.reserve_id(FIRST) is True
    assert RESERVATION_TTL_S - 60 < await store.node(key).execute("TTL", key) <= RESERVATION_TTL_S == 3600
    await store.node(key).execute("EXPIRE", key, 100)
    assert await posts.reserve_id(FIRST) is False
    assert await store.node(key).execute("TTL", key) <= 100
    assert await posts.find_state(FIRST) is PostState.PENDING
    assert await posts.find(FIRST) is None


async def test_a_post_replaces_its_reservation_once(store: Store, posts: PostRepository) -> None:
    await posts.reserve_id(FIRST)
    assert await posts.write(POST) is WriteResult.NEW
    assert await posts.write(POST, b"something else") is WriteResult.EXISTS
    assert await posts.find(FIRST) == POST
    assert await store.node(keys.post(FIRST)).execute("TTL", keys.post(FIRST)) == -1
    assert await posts.write(ANSWER, b"as it was encoded elsewhere") is WriteResult.NEW
    assert await held(store, SECOND) == b"as it was encoded elsewhere"


async def test_a_deleted_or_abandoned_post_is_never_written(posts: PostRepository) -> None:
    await posts.write(POST)
    assert await posts.delete(FIRST, ALICE) is True
    assert await posts.write(POST) is WriteResult.DELETED
    assert await posts.abandon_id(FIRST) is WriteResult.DELETED
    assert await posts.abandon_id(SECOND) is await posts.abandon_id(SECOND) is WriteResult.SUPERSEDED
    assert await posts.write(ANSWER) is WriteResult.SUPERSEDED
    await posts.write(BOOST)
    assert await posts.abandon_id(THIRD) is WriteResult.EXISTS
    stands = {each for each in WriteResult if each.exists}
    assert stands == {WriteResult.NEW, WriteResult.EXISTS, WriteResult.EDITED}


async def test_a_reservation_is_deleted_only_with_include_reserved(store: Store, posts: PostRepository) -> None:
    await posts.reserve_id(FIRST)
    assert await posts.delete(FIRST, ALICE) is False
    assert await held(store, FIRST) == b"pending"
    assert await posts.delete(FIRST, ALICE, include_reserved=True) is False
    assert await held(store, FIRST) == b"deleted:7"


async def test_a_tombstone_describes_the_deleted_post_to_its_author(store: Store, posts: PostRepository) -> None:
    for post in (POST, ANSWER, BOOST):
        assert await posts.find_tombstone(ALICE, post.id) is None
        await posts.write(post)
        assert await posts.find_tombstone(ALICE, post.id) is None
        await posts.delete(post.id, ALICE)
        assert await posts.find_tombstone(BOB, post.id) is None
    assert await posts.find_tombstone(ALICE, FIRST) == Post(FIRST, ALICE, "")
    assert await posts.find_tombstone(ALICE, SECOND) == Post(SECOND, ALICE, "", in_reply_to=FIRST)
    await posts.abandon_id(id_at(1_795_000_000_000, 9))
    assert await posts.find_tombstone(ALICE, id_at(1_795_000_000_000, 9)) is None


async def test_find_changed_returns_the_boosted_posts(posts: PostRepository) -> None:
    for post in (POST, ANSWER, BOOST):
        await posts.write(post)
    ids = [FIRST, SECOND, THIRD, id_at(1_795_000_000_000, 8), id_at(1_795_000_000_000, 9)]
    await posts.abandon_id(ids[-1])
    assert (await posts.find_changed(ids))[1] == {}
    await posts.delete(SECOND, ALICE)
    await posts.delete(THIRD, ALICE)
    deleted = (await posts.find_changed(ids))[1]
    assert {id: post.boost_of for id, post in deleted.items()} == {SECOND: None, THIRD: FIRST}
    assert {post.author_id for post in deleted.values()} == {ALICE}
    assert await posts.find_many(ids) == {FIRST: POST}


async def test_archived_posts_are_found_like_other_posts(
    store: Store, posts: PostRepository, archive: Returning
) -> None:
    await posts.write(POST)
    assert await posts.find_many([FIRST]) == {FIRST: POST}
    await archive.put([(SECOND, encode_post(ANSWER)), (THIRD, encode_post(BOOST))])
    for post_id in (SECOND, THIRD):
        await lay(store, post_id, b"7")
    assert await posts.find_state(SECOND) == await posts.find(SECOND) == ANSWER
    assert await posts.find_many([FIRST, SECOND, THIRD]) == {FIRST: POST, SECOND: ANSWER, THIRD: BOOST}
    assert await posts.delete(SECOND, ALICE) is True
    assert await archive.get([SECOND, THIRD]) == {THIRD: encode_post(BOOST)}
    assert await posts.delete(FIRST, ALICE) is True
    assert await archive.get([THIRD]) == {THIRD: encode_post(BOOST)}


async def test_a_post_restored_between_the_two_reads_is_found(
    store: Store, posts: PostRepository, archive: Returning
) -> None:
    await archive.put([(THIRD, encode_post(BOOST))])
    for post_id in (FIRST, SECOND, THIRD):
        await lay(store, post_id, b"7")
    assert await posts.find_state(FIRST) is PostState.ARCHIVED
    assert await posts.find(FIRST) is None
    archive.returning = [ANSWER]
    assert await posts.find_many([FIRST, SECOND, THIRD]) == {SECOND: ANSWER, THIRD: BOOST}


async def test_an_idempotency_key_belongs_to_its_first_request(store: Store, posts: PostRepository) -> None:
    key = keys.idempotency_record(ALICE, "k")
    assert await posts.find_idempotency_record(ALICE, "k") is None
    assert await posts.claim_idempotency_key(ALICE, "k", MINE) == MINE
    assert await posts.find_idempotency_record(ALICE, "k") == MINE
    await store.node(key).execute("EXPIRE", key, 100)
    assert await posts.claim_idempotency_key(ALICE, "k", OTHERS) == MINE
    assert await store.node(key).execute("TTL", key) <= 100
    assert await store.node(key).execute("GET", key) == b"%d:abc" % FIRST
    assert await posts.claim_idempotency_key(BOB, "k", OTHERS) == OTHERS
    day_and_an_hour = await store.node(keys.idempotency_record(BOB, "k")).execute(
        "TTL", keys.idempotency_record(BOB, "k")
    )
    assert IDEMPOTENCY_TTL_S - 60 < day_and_an_hour <= IDEMPOTENCY_TTL_S == 90_000


async def test_a_dead_idempotency_record_is_replaced_once(store: Store, posts: PostRepository) -> None:
    key, fresh = keys.idempotency_record(ALICE, "k"), IdempotencyRecord(THIRD, "abc")
    await posts.claim_idempotency_key(ALICE, "k", MINE)
    assert await posts.replace_idempotency_record(ALICE, "k", MINE, OTHERS) == OTHERS
    assert await posts.replace_idempotency_record(ALICE, "k", MINE, fresh) == OTHERS
    assert await posts.claim_idempotency_key(ALICE, "k", fresh) == OTHERS
    assert IDEMPOTENCY_TTL_S - 60 < await store.node(key).execute("TTL", key) <= IDEMPOTENCY_TTL_S


async def test_a_reply_is_added_once_and_removed_once(store: Store, posts: PostRepository) -> None:
    counts, replies = keys.post_counts(FIRST), keys.replies(FIRST)
    for reply_id in (SECOND, THIRD, SECOND):
        await posts.add_reply(FIRST, reply_id)
    assert await store.node(replies).execute("ZRANGE", replies, 0, -1) == [b"%d" % SECOND, b"%d" % THIRD]
    assert await store.node(counts).execute("GET", counts) == b"2 0 0"
    for _ in range(2):
        await posts.remove_reply(FIRST, SECOND)
    assert await store.node(replies).execute("ZRANGE", replies, 0, -1) == [b"%d" % THIRD]
    assert await store.node(counts).execute("GET", counts) == b"1 0 0"
