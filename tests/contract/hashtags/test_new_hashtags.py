"""New hashtags, which take memory as long as their posts exist, have a limit per account and day."""

from collections.abc import AsyncIterator

import pytest

from socialsite.container import Services
from socialsite.ids import PostId
from socialsite.limits import ACCOUNTS_PER_ADDRESS, Caller
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.world import Person, World, ids_on
from timelines.audit import Audit
from timelines.errors import PostInvalid
from timelines.posts.post import FOLLOWERS, Post

PER_DAY = 4


@pytest.fixture
async def services(redis_urls: StoreUrls) -> AsyncIterator[Services]:
    async with open_services(redis_urls, ServiceConfig(new_hashtags_per_day=PER_DAY)) as opened:
        yield opened


async def publish(services: Services, author: Person, text: str, audience: int | None = None) -> Post:
    caller = Caller(author.id, "192.0.2.1")
    return await services.publishing.publish(
        author_id=author.id, text=text, audience=audience, now_ms=services.clock.now_ms(), caller=caller
    )


async def is_listed(services: Services, post: Post, tag: str) -> bool:
    return post.id in ids_on(await services.reading.tag(tag, viewer_id=None))


async def test_new_hashtags_beyond_the_daily_number_are_links_only(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    await publish(services, bob, "#known")
    post = await publish(services, alice, "#a #b #c #known #d #e #f")
    await world.deliver_all()
    listed = [tag for tag in ("a", "b", "c", "known", "d", "e", "f") if await is_listed(services, post, tag)]
    assert listed == ["a", "b", "c", "known", "d"]
    later = await publish(services, alice, "#g #a #known")
    await world.deliver_all()
    assert [tag for tag in ("g", "a", "known") if await is_listed(services, later, tag)] == ["a", "known"]
    assert await services.autocomplete.complete_hashtags("g", limit=5) == []
    assert await is_listed(services, await publish(services, bob, "#g"), "g")  # bob has his own limit


async def test_the_audit_and_a_rebuild_leave_unindexed_hashtags_alone(world: World, services: Services) -> None:
    alice = await world.person("alice")
    post = await publish(services, alice, "#a #b #c #d #e")
    await world.deliver_all()
    report = await Audit(services.audit_context, second_check_after_s=0.01).run(repair=True)
    assert [str(discrepancy) for discrepancy in report.discrepancies] == []
    await services.repositories.hashtag_timelines.add([post])
    assert not await is_listed(services, post, "e")


async def test_only_indexed_posts_use_up_the_number(alice: Person, services: Services) -> None:
    await publish(services, alice, "#a #b #c #d #e", audience=FOLLOWERS)
    post = await publish(services, alice, "#a #b #c #d")
    assert await is_listed(services, post, "d")


async def test_the_accounts_of_an_address_share_ten_times_the_number(world: World, services: Services) -> None:
    people = await world.people(*(f"p{number}" for number in range(ACCOUNTS_PER_ADDRESS + 1)))
    posts = [await publish(services, one, " ".join(f"#t{one.id}x{n}" for n in range(PER_DAY + 1))) for one in people]
    assert [len(post.indexed_hashtags) for post in posts] == [PER_DAY] * ACCOUNTS_PER_ADDRESS + [0]


async def test_hashtags_that_are_not_new_do_not_use_up_the_number(
    alice: Person, bob: Person, services: Services, redis_urls: StoreUrls
) -> None:
    """A process that does not know them yet counts them, and refunds them."""
    for tag in "uvwxyz":
        await publish(services, bob if tag < "x" else alice, f"#{tag}")  # alice uses three of four
    async with open_services(redis_urls, services.config) as other_process:
        await publish(other_process, alice, "#u #v #w #x #y #z")
        refused = Caller(alice.id, "192.0.2.1")
        with pytest.raises(PostInvalid):
            await other_process.publishing.publish(
                author_id=alice.id, text="#never", in_reply_to=PostId(1), now_ms=services.clock.now_ms(), caller=refused
            )
    post = await publish(services, alice, "#last #toomany")
    assert post.indexed_hashtags == ["last"]
