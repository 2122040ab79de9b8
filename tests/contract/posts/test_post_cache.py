"""Cached posts: only the first byte is read, and the result reflects the current state."""

import pytest

from socialsite.ids import AccountId, PostId, id_at
from socialsite.store import Store
from timelines import keys
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.posts.stored_values import PostState, decode_stored

POST = Post(id_at(1_764_000_000_000, 1), AccountId(7), "words " * 80)
OTHER = Post(id_at(1_764_000_000_000, 2), AccountId(8), "others")


async def told(store: Store, posts: PostRepository, *ids: PostId) -> list[Post | PostState]:
    (found,) = await store.read(posts.read_many(ids))
    return [found[id] for id in ids]


def names(posts: PostRepository, *ids: PostId) -> list[str]:
    """Return the names of the commands that a read would send."""
    return [command[0] for command in posts.read_many(ids).commands]


async def test_a_cached_post_is_not_sent_again(store: Store) -> None:
    posts = PostRepository(store)
    for post in (POST, OTHER):
        await posts.write(post)
    assert names(posts, POST.id) == ["GET"]
    assert await told(store, posts, POST.id) == [POST]
    assert names(posts, POST.id, OTHER.id) == ["GETRANGE", "GET"]
    assert await told(store, posts, POST.id, OTHER.id) == [POST, OTHER]
    assert names(posts, POST.id, OTHER.id) == ["GETRANGE", "GETRANGE"]
    assert await told(store, posts, OTHER.id, POST.id) == [OTHER, POST]


@pytest.mark.parametrize("value", [b"deleted:7", b"deleted:7:12345", b"superseded", b"pending", b"1764000000000", None])
async def test_a_cached_read_returns_the_current_state(store: Store, value: bytes | None) -> None:
    posts, key = PostRepository(store), keys.post(POST.id)
    for post in (POST, OTHER):
        await posts.write(post)
    await told(store, posts, POST.id, OTHER.id)
    await store.execute_all([("DEL", key) if value is None else ("SET", key, value)])
    assert await told(store, posts, POST.id, OTHER.id) == [decode_stored(value), OTHER]


async def test_the_cache_drops_posts_that_were_not_read_lately(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timelines.posts.stored_values.POST_CACHE_BYTES", 8_000)
    posts = PostRepository(store)
    texts = ("short", "words " * 80, "words " * 80, "words " * 80)
    short, *others = (Post(id_at(1_764_000_000_000, n), AccountId(9), text) for n, text in enumerate(texts))
    for post in (short, *others):
        await posts.write(post)
        assert await told(store, posts, post.id, short.id) == [post, short]
    assert names(posts, short.id, *(each.id for each in others)) == ["GETRANGE", "GET", "GETRANGE", "GETRANGE"]
