"""The content warning, mark of sensitive pictures and language of a post are stored with it."""

import msgspec
import pytest

from socialsite.container import Services
from socialsite.ids import PostId, id_at
from tests.support.world import Person, World
from timelines import keys
from timelines.errors import IdempotencyConflict, PostInvalid
from timelines.posts.post import (
    FOLLOWERS,
    NO_DETAILS,
    MediaAttachment,
    Poll,
    Post,
    PostDetails,
    decode_post,
    encode_post,
)

WARNED = PostDetails("Spiders", sensitive=True, language="de")
PICTURE = MediaAttachment(4, "c2VjcmV0", 640, 480, "LEHV6n", "a cat", (0.5, -0.25), is_animated=True)


async def stored_value(services: Services, post_id: PostId) -> bytes:
    key = keys.post(post_id)
    value = await services.store.node(key).execute("GET", key)
    assert isinstance(value, bytes)
    return value


async def test_a_post_without_details_is_stored_in_one_byte_more(alice: Person, services: Services) -> None:
    post = await alice.publishes("hello", details=NO_DETAILS)
    value = await stored_value(services, post.id)
    former_value = msgspec.msgpack.encode([post.id, alice.id, "hello", None, 1, 0, None, None, None, None])
    assert value == b"\x9b" + former_value[1:] + b"\xc0"


async def test_a_post_that_an_earlier_release_stored_is_read(alice: Person, services: Services) -> None:
    post_id = services.ids.next_id()
    value = msgspec.msgpack.encode([post_id, alice.id, "hello", None, 1, FOLLOWERS, None, None, None, None])
    await services.repositories.posts.write(Post(post_id, alice.id, "hello"), value)
    post = await services.repositories.posts.find(post_id)
    assert post == Post(post_id, alice.id, "hello", audience=FOLLOWERS)
    assert post.extra == NO_DETAILS


def test_every_detail_is_decoded_as_it_was_encoded() -> None:
    poll = Poll(("yes", "no"), multiple=True, ends_ms=5, round=2, hide_totals=False)
    details = PostDetails("Spiders", True, "de", (PICTURE, PICTURE), poll, PostId(7), None, 3, 99)
    post = Post(id_at(1_764_000_000_000, 1), author_id=1, text="hello", details=details)  # type: ignore[arg-type]
    assert decode_post(encode_post(post)) == post
    assert hash(post) == hash(decode_post(encode_post(post)))


async def test_a_worker_writes_the_details_of_the_job(world: World, alice: Person, services: Services) -> None:
    post = await alice.publishes("hello", details=WARNED)
    await services.store.execute_all([("DEL", keys.post(post.id))])
    await world.deliver_all()
    assert await services.repositories.posts.find(post.id) == post
    assert post.details == WARNED


async def test_the_same_key_with_another_warning_is_a_conflict(alice: Person) -> None:
    post = await alice.publishes("hello", key="k", details=WARNED)
    assert await alice.publishes("hello", key="k", details=WARNED) == post
    with pytest.raises(IdempotencyConflict):
        await alice.publishes("hello", key="k", details=PostDetails("Snakes"))
    with pytest.raises(IdempotencyConflict):
        await alice.publishes("hello", key="k")


async def test_the_warning_counts_towards_the_length(alice: Person) -> None:
    assert (await alice.publishes("a" * 493, details=PostDetails("  Spiders\n"))).extra.spoiler_text == "Spiders"
    with pytest.raises(PostInvalid) as refused:
        await alice.publishes("a" * 494, details=PostDetails("Spiders"))
    assert list(refused.value.fields) == ["text"]
    with pytest.raises(PostInvalid) as refused:
        await alice.publishes("a", details=PostDetails("a" * 501))
    assert list(refused.value.fields) == ["spoiler_text"]


async def test_only_a_post_with_pictures_may_have_no_text(alice: Person, services: Services) -> None:
    with pytest.raises(PostInvalid):
        await alice.publishes(" ", details=WARNED)
    with_picture = PostDetails(media=(PICTURE,))
    assert services.publishing.validate_content(" ", with_picture) == ("", with_picture)


async def test_an_invisible_warning_is_no_warning(alice: Person) -> None:
    assert (await alice.publishes("hello", details=PostDetails(" \u200b"))).details is None
