"""Hashtag timelines: their posts, their readers and their rebuilding."""

from pathlib import Path

import pytest
from django.core.management import call_command

from socialsite.container import Services
from socialsite.ids import PostId
from socialsite.store import Store
from socialsite.store.key import KEY_PATTERN
from tests.support.imports import import_old_post
from tests.support.world import Person, World, ids_of, ids_on
from timelines.author_timelines.hashtag_timelines import HashtagTimelines, hashtag_key
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.post import Post


async def tagged(services: Services, tag: str, **cut: int) -> list[PostId]:
    return ids_on(await services.reading.tag(tag, viewer_id=None, **cut))


async def test_a_post_is_listed_under_each_of_its_hashtags_immediately(alice: Person, services: Services) -> None:
    first = await alice.publishes("#Redis and #redis are one, #日本 is another")
    second = await alice.publishes("more #REDIS, no#tag, #42")
    assert await tagged(services, "redis") == ids_of([second, first])
    assert await tagged(services, "日本") == [first.id]
    assert await tagged(services, "tag") == await tagged(services, "nobody") == []


async def test_the_workers_repetition_adds_no_duplicate(world: World, alice: Person, services: Services) -> None:
    post = await alice.publishes("#redis")
    await services.store.node(hashtag_key("redis")).execute("DEL", hashtag_key("redis"))
    await world.deliver_all()
    assert await tagged(services, "redis") == [post.id]


async def test_pages_are_contiguous_in_both_directions(alice: Person, services: Services) -> None:
    posts = [await alice.publishes(f"{n} #n") for n in range(5)][::-1]
    page = await services.reading.tag("n", viewer_id=alice.id, limit=2)
    assert ids_on(page) == ids_of(posts[:2])
    assert await tagged(services, "n", before=page.next_before or 0, limit=2) == ids_of(posts[2:4])
    assert await tagged(services, "n", after=posts[3].id, limit=2) == ids_of(posts[1:3])


async def test_a_deleted_post_leaves_the_hashtag_timeline_and_its_key(alice: Person, services: Services) -> None:
    post = await alice.publishes("#gone")
    await alice.deletes(post)
    assert await tagged(services, "gone") == []
    assert await services.store.node(hashtag_key("gone")).execute("EXISTS", hashtag_key("gone")) == 0


async def test_a_page_is_full_without_suspended_and_deleted_authors(world: World, services: Services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    posts = [await alice.publishes(f"{n} #redis") for n in range(3)][::-1]
    for n in range(20):
        await bob.publishes(f"{n} #redis")
        await carol.publishes(f"{n} #redis")
    await services.accounts.suspend(account_id=bob.id)
    await services.accounts.delete(account_id=carol.id)
    assert await tagged(services, "redis", limit=3) == ids_of(posts)
    await services.accounts.reinstate(account_id=bob.id)
    assert len(await tagged(services, "redis", limit=100)) == 23
    await world.deliver_all()
    post_ids = await services.repositories.hashtag_timelines.read("redis", ABOVE_ALL_IDS, 100, upward=False)
    assert len(post_ids) == 23, "the sweep took the posts of the deleted account out"


async def test_a_hashtag_timeline_keeps_its_newest_posts(store: Store) -> None:
    tags = HashtagTimelines(store, cap=3)
    for number in (5, 1, 2, 4, 3):
        await tags.add([Post(PostId(number), 7, "#few")])  # type: ignore[arg-type]
    assert await tags.read("few", ABOVE_ALL_IDS, 10, upward=False) == [5, 4, 3]


async def test_no_key_contains_the_text_of_a_hashtag() -> None:
    assert KEY_PATTERN.fullmatch(hashtag_key("日本"))
    assert "redis" not in hashtag_key("redis")


async def test_hashtag_timelines_of_earlier_releases_are_found() -> None:
    assert hashtag_key("redis") == "timelines:{34fb46c847bb9df96e5205a39d382f64}:tag"


async def test_imported_posts_are_listed_under_their_hashtags(services: Services, tmp_path: Path) -> None:
    await import_old_post(services, tmp_path, author="ann", text="old #News")
    assert len(await tagged(services, "news")) == 1


async def test_lost_hashtag_timelines_are_rebuilt_equal(world: World, services: Services) -> None:
    people = await world.people("alice", "bob")
    for n in range(6):
        await people[n % 2].publishes(f"{n} #redis" + " #even" * (n % 2 == 0))
    before = [await tagged(services, tag) for tag in ("redis", "even")]
    for tag in ("redis", "even"):
        await services.store.node(hashtag_key(tag)).execute("DEL", hashtag_key(tag))
    assert await services.rebuilds.rebuild_tags([person.id for person in people]) == 9
    assert [await tagged(services, tag) for tag in ("redis", "even")] == before


@pytest.mark.parametrize("option", ["--tags", "--all"])
@pytest.mark.usefixtures("here")
def test_the_command_reports_the_rebuilt_hashtags(capsys, option: str) -> None:
    call_command("rebuild_timelines", option)
    assert "Put 0 entries back under their tags." in capsys.readouterr().out
    call_command("rebuild_timelines", option, "--dry-run")
    assert "Would" in capsys.readouterr().out
