"""Markers of timelines, and bookmarks."""

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.store import Store
from tests.support.topologies import Deployment
from tests.support.world import Person, World
from timelines import keys
from timelines.errors import TimelineNotFound
from timelines.markers.marker import MARKERS_CAP, Marker
from timelines.reactions.bookmarks import Bookmark, Bookmarks

ME = AccountId(7)


async def test_a_marker_moves_forward_and_back_only_on_request(services: Services) -> None:
    places = services.markers
    assert await places.find(ME, "home") == Marker(PostId(0), True)
    assert await places.move(ME, "home", PostId(50)) == 50
    assert await places.move(ME, "home", PostId(40)) == 50
    assert await places.move(ME, "home", PostId(60)) == 60
    assert await places.move(ME, "home", PostId(9), back=True) == 9
    assert (await places.find(ME, "home")).last_read_id == 9
    assert (await places.find(ME, "public")).last_read_id == 0
    assert await places.find(None, "home") == Marker()


@pytest.mark.parametrize(
    "name", ["", "Home", "list:0", "list:x", "list:1 ", "profile:bob", "home\n", "list:" + "1" * 17]
)
async def test_markers_are_stored_only_for_known_timelines(services: Services, name: str) -> None:
    with pytest.raises(TimelineNotFound):
        await services.markers.move(ME, name, PostId(1))


async def test_the_number_of_markers_is_bounded(services: Services) -> None:
    for number in range(1, MARKERS_CAP + 1):
        await services.markers.move(ME, f"list:{number}", PostId(5 + number))
    assert await services.markers.move(ME, "home", PostId(5)) == 5
    assert await services.markers.move(ME, f"list:{number + 1}", PostId(900)) == 900
    last_read_ids = [(await services.markers.find(ME, f"list:{each}")).last_read_id for each in range(1, 5)]
    assert last_read_ids == [0, 0, 8, 9], "the lists read longest ago made room"
    assert (await services.markers.find(ME, "home")).last_read_id == 5


async def test_the_scroll_preference_is_stored_beside_other_preferences(services: Services) -> None:
    await services.repositories.notifications.set_preferences(ME, {"like": "none"})
    await services.repositories.markers.set_scroll_preference(ME, scrolls=False)
    assert not (await services.markers.find(ME, "home")).scrolls
    await services.repositories.markers.set_scroll_preference(ME, scrolls=True)
    assert (await services.markers.find(ME, "home")).scrolls


async def test_a_deleted_account_leaves_no_marker(world: World, services: Services, deployment: Deployment) -> None:
    alice = await world.person("alice")
    await services.markers.move(alice.id, "home", PostId(5))
    await services.accounts.delete(account_id=alice.id)
    await world.deliver_all()
    assert keys.markers(alice.id) not in deployment.all_keys()


async def suggested(services: Services, viewer: Person, limit: int = 10) -> list[AccountId]:
    return [each.account_id for each in await services.follow_suggestions.suggestions(viewer.id, limit)]


async def test_accounts_followed_by_most_follows_are_suggested_first(world: World, services: Services) -> None:
    me, ann, ben, one, two, lone = await world.people("me", "ann", "ben", "one", "two", "lone")
    for friend in (ann, ben):
        await me.follows(friend)
        await friend.follows(two)
        await friend.follows(me)
    await ann.follows(one)
    await ann.follows(ben)
    suggestions = await services.follow_suggestions.suggestions(me.id, 10)
    assert [each.account_id for each in suggestions] == [two.id, one.id]
    assert set(suggestions[0].known_follower_ids) == {ann.id, ben.id}
    assert lone.id not in await suggested(services, me)


async def test_blocked_muted_requested_and_suspended_accounts_are_not_suggested(
    world: World, services: Services
) -> None:
    me, ann, *others = await world.people("me", "ann", "blocked", "blocker", "muted", "asked", "gone", "fine")
    blocked, blocker, muted, asked, gone, fine = others
    await me.follows(ann)
    for other in others:
        await ann.follows(other)
    now_ms = services.clock.now_ms()
    await services.blocks_and_mutes.block(account_id=me.id, other_id=blocked.id, now_ms=now_ms)
    await services.blocks_and_mutes.block(account_id=blocker.id, other_id=me.id, now_ms=now_ms)
    await services.blocks_and_mutes.mute(account_id=me.id, other_id=muted.id, now_ms=now_ms, until_ms=None)
    await services.repositories.follow_requests.add(me.id, asked.id, now_ms)
    await services.accounts.suspend(account_id=gone.id)
    assert await suggested(services, me) == [fine.id]


async def test_accounts_that_hide_are_neither_suggested_nor_in_the_directory(world: World, services: Services) -> None:
    me, ann, hidden, author, open_author = await world.people("me", "ann", "hidden", "author", "open")
    await me.follows(ann)
    await ann.follows(hidden)
    for person in (author, open_author):
        await person.publishes("hello")
    assert await suggested(services, me) == [hidden.id, open_author.id, author.id]
    await hidden.hides()
    await author.hides()
    assert await suggested(services, me) == [open_author.id]
    for viewer_id in (me.id, None):
        assert await services.follow_suggestions.directory(viewer_id) == [open_author.id]


async def test_an_account_without_follows_gets_the_latest_authors_as_suggestions(
    world: World, services: Services
) -> None:
    me, one, two = await world.people("me", "one", "two")
    await one.publishes("first")
    await two.publishes("second")
    await me.publishes("mine")
    assert await suggested(services, me) == [two.id, one.id]
    assert await suggested(services, me, limit=1) == [two.id]


async def test_a_newcomer_is_not_suggested_before_authors_with_followers(world: World, services: Services) -> None:
    me, known, busy, newcomer = await world.people("me", "known", "busy", "newcomer")
    await busy.follows(known)
    await known.publishes("long ago")
    for text in ("one", "two"):
        await busy.publishes(text)
    await newcomer.publishes("buy here")
    assert await suggested(services, me) == [known.id, busy.id, newcomer.id]


async def test_authors_in_foreign_scripts_are_suggested_last(world: World, services: Services) -> None:
    me, korean, english = await world.people("me", "korean", "english")
    for number in range(2):
        await korean.publishes(f"안녕하세요 {number}")
    await english.publishes("hello")
    both = [korean.id, english.id]
    assert await suggested(services, me) == both
    suggestions = services.follow_suggestions.suggestions
    assert [each.account_id for each in await suggestions(me.id, 10, frozenset({"Latin"}))] == both[::-1]
    assert [each.account_id for each in await suggestions(me.id, 10, frozenset({"Hangul", "Latin"}))] == both


ALICE = AccountId(1)

OLDEST_FIRST = [Bookmark(at, PostId(id)) for at, id in ((100, 9), (200, 3), (200, 5), (200, 7), (300, 1))]

"""Ids of one digit, because ties are ordered by the text of the id."""


@pytest.fixture
async def bookmarks(store: Store) -> Bookmarks:
    bookmarks = Bookmarks(store)
    for each in reversed(OLDEST_FIRST):
        assert await bookmarks.add(ALICE, each.post_id, each.at_ms)
    return bookmarks


@pytest.mark.parametrize("upward", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
async def test_pages_of_any_size_contain_each_bookmark_once(bookmarks: Bookmarks, limit: int, upward: bool) -> None:
    entries: list[Bookmark] = []
    while page := await bookmarks.read(ALICE, entries[-1] if entries else None, limit, upward=upward):
        assert len(page) <= limit
        entries += page
    assert entries == (OLDEST_FIRST if upward else OLDEST_FIRST[::-1])


async def test_a_bookmark_keeps_its_position_and_is_removed_once(bookmarks: Bookmarks) -> None:
    assert await bookmarks.add(ALICE, PostId(3), 999) is False
    assert await bookmarks.read(ALICE, None, 1, upward=False) == [OLDEST_FIRST[-1]]
    assert await bookmarks.remove(ALICE, PostId(3)) is True
    assert await bookmarks.remove(ALICE, PostId(3)) is False


async def test_the_newest_bookmarks_are_kept(store: Store) -> None:
    bookmarks = Bookmarks(store, cap=2)
    for each in OLDEST_FIRST:
        await bookmarks.add(ALICE, each.post_id, each.at_ms)
    assert await bookmarks.read(ALICE, None, 9, upward=True) == OLDEST_FIRST[-2:]
