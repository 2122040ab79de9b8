"""After random acts every timeline of every viewer equals an independent oracle.

The oracle is tests/support/rights_model.py; test_boosts_model covers boosts on pages. A live message for many
viewers must contain the entries of each viewer's own page, boosts included.
"""

import asyncio
from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialsite.ids import AccountId
from tests.support.random_tests import examples
from tests.support.redis_server import RedisServer
from tests.support.rights_model import Timeline
from tests.support.rights_site import STEPS, RightsSite
from tests.support.stores import opened_store
from tests.support.world import Person, World
from timelines.errors import PostNotFound
from timelines.pages.page import HydratedPost
from timelines.posts.post import Post
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext


async def compare(site: RightsSite, limit: int) -> None:
    for viewer in site.people:
        await compare_pages(site, viewer.id, "home", limit)
        await compare_pages(site, viewer.id, "list", limit)
    for viewer_id in (None, *(person.id for person in site.people)):
        await compare_pages(site, viewer_id, "public", limit)
        await compare_pages(site, viewer_id, "tag", limit)
        for person in site.people:
            await compare_pages(site, viewer_id, "profile", limit, person.id)
            await compare_pins(site, viewer_id, person.id)
    await compare_sockets(site)


async def compare_pages(
    site: RightsSite, viewer: AccountId | None, kind: Timeline, limit: int, of: AccountId | None = None
) -> None:
    expected = [
        (post.id, post.text, site.own_choices(post, viewer))
        for post in site.posts
        if belongs(site, post, viewer, kind, of) and site.is_visible(post, viewer, kind)
    ]
    shown, before = [], None
    while True:
        page = await site.page(viewer, kind, of, before, limit)
        shown += [
            (entry.post.id, entry.post.text, entry.poll and tuple(entry.poll.own))
            for entry in page.entries
            if entry.original is None
        ]
        compare_quotes(site, page.entries, viewer, kind)
        before = page.next_before
        if before is None:
            break
    assert shown == sorted(expected, reverse=True), f"{kind} of {of} for {viewer}"


def compare_quotes(site: RightsSite, entries: Sequence[HydratedPost], viewer: AccountId | None, kind: Timeline) -> None:
    """Compare the state of each quote with the model. A hidden quoted post is not on the page at all."""
    for entry in (each.shown for each in entries):
        assert (entry.quote is not None) == (entry.post.id in site.quotes)
        if entry.quote is None:
            continue
        state = site.quote_state(entry.post, viewer, kind)
        assert entry.quote.state == state, f"{entry.post} for {viewer} at {kind}"
        quoted = site.quotes[entry.post.id]
        is_hidden = state in ("unauthorized", "deleted", "revoked")
        assert (entry.quote.post and entry.quote.post.post) == (None if is_hidden else quoted)
        assert (entry.quote.shown is not None) == site.shows_quoted(entry.post, viewer, kind)


async def compare_pins(site: RightsSite, viewer: AccountId | None, of: AccountId) -> None:
    entries = await site.services.pins.load(await site.services.pins.pinned_ids(of), viewer)
    own = [post for post in site.pins if post.author_id == of]
    expected = [post.id for post in own[::-1] if site.is_visible(post, viewer, "profile")]
    assert [entry.post.id for entry in entries] == expected, f"pins of {of} for {viewer}"


def belongs(site: RightsSite, post: Post, viewer: AccountId | None, kind: str, of: AccountId | None) -> bool:
    match kind:
        case "home":
            return viewer == post.author_id or (viewer, post.author_id) in site.follows
        case "profile":
            return post.author_id == of
        case "tag":
            return "#tea" in post.text
        case _:
            return True  # every list contains all accounts


async def compare_sockets(site: RightsSite) -> None:
    """Compare the entries read for all viewers together with those read for each viewer alone."""
    pipeline, reading = site.services.pipeline, site.services.reading
    seats = [ViewerContext(None, ViewContext.PUBLIC), ViewerContext(None, ViewContext.PROFILE)]
    for person in site.people:
        seats += [
            ViewerContext(person.id, ViewContext.HOME, reading.home_rights(person.id)),
            await list_seat(site, person),
            ViewerContext(person.id, ViewContext.PROFILE),
            ViewerContext(person.id, ViewContext.HASHTAG),
        ]
    for post in (*site.posts, *site.boosts):
        boosted = next((each for each in site.posts if each.id == post.boost_of), None)
        sent = await pipeline.read_post_for_viewers(post.id, post.author_id, seats)
        for seat, entry in zip(seats, sent, strict=True):
            alone = await pipeline.read_posts([post.id], seat)
            assert [entry] == (alone or [None]), f"{post} for {seat.viewer_id} at {seat.context}"
            assert entry is None or entry.shown.post.text == (boosted or post).text
            if boosted is not None and entry is not None:
                assert site.is_visible(boosted, seat.viewer_id, "profile")


async def list_seat(site: RightsSite, owner: Person) -> ViewerContext:
    lists = site.services.lists
    rule = await lists.rule(await lists.get(owner_id=owner.id, list_id=site.lists[owner.id]))
    return ViewerContext(owner.id, ViewContext.LIST, rule.read_member_authors, rule.reply_rights)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, limit=st.integers(1, 4))
def test_every_timeline_equals_the_model_of_the_rights(
    redis_server: RedisServer, steps: list[tuple[str, int, int, int]], limit: int
) -> None:
    async def run() -> None:
        with redis_server.client() as client:
            client.flushall()
        async with opened_store(redis_server.url) as store:
            site = await RightsSite.create(store)
            for number, (verb, one, other, choice) in enumerate(steps):
                try:
                    await site.step(verb, site.people[one], site.people[other], choice)
                except PostNotFound:
                    raise AssertionError(f"step {number}: {verb}") from None
            await World(site.services).deliver_all()
            await compare(site, limit)

    asyncio.run(run())
