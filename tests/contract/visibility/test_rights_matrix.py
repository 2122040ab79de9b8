"""Every right on every page: effective from the reply on, and reversible.

tests/support/visibility_scenario.py describes Alice, Bob and Carol and the places that show their posts.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from tests.support.visibility_scenario import PROBES, VisibilityScenario, on_home
from tests.support.world import Person, World


@pytest.fixture
async def scene(world: World) -> VisibilityScenario:
    return await VisibilityScenario.build(world)


Act = Callable[[VisibilityScenario], Awaitable[object]]


@dataclass(frozen=True)
class Action:
    """An action that hides Bob's post from Alice, its reversal, and the places that it affects (`hides`)."""

    do: Act
    undo: Act | None
    hides: frozenset[str]


async def follow_again(scene: VisibilityScenario) -> None:
    """Follow Bob again, because an unblock does not restore follows."""
    assert not await on_home(scene)
    await scene.alice.follows(scene.bob)


async def unblock(scene: VisibilityScenario) -> None:
    await scene.alice.unblocks(scene.bob)
    await follow_again(scene)


async def unblocked(scene: VisibilityScenario) -> None:
    await scene.bob.unblocks(scene.alice)
    await follow_again(scene)


async def locked_out(scene: VisibilityScenario) -> None:
    await scene.alice.unfollows(scene.bob)
    await scene.bob.locks()


async def let_in(scene: VisibilityScenario) -> None:
    await scene.alice.follows(scene.bob)
    await scene.services.follow_requests.accept(
        account_id=scene.bob.id, requester_id=scene.alice.id, now_ms=scene.now_ms
    )
    await scene.bob.locks(private=False)


async def limited_to_others(scene: VisibilityScenario) -> None:
    await scene.alice.unfollows(scene.bob)
    await scene.services.accounts.restrict(scene.bob.id, "limit", 1)


async def unlimited(scene: VisibilityScenario) -> None:
    await scene.alice.follows(scene.bob)
    assert await on_home(scene), "a follow needs no request"
    await scene.services.accounts.restrict(scene.bob.id, "limit", 0)


async def quiet(scene: VisibilityScenario) -> None:
    await scene.services.blocks_and_mutes.hide_boosts(
        account_id=scene.alice.id, other_id=scene.carol.id, now_ms=scene.now_ms
    )


async def unquiet(scene: VisibilityScenario) -> None:
    await scene.services.blocks_and_mutes.show_boosts(account_id=scene.alice.id, other_id=scene.carol.id)


async def hide_word(scene: VisibilityScenario) -> None:
    await scene.services.filters.add(account_id=scene.alice.id, phrase="Tea", action="hide")


async def show_word(scene: VisibilityScenario) -> None:
    for each in await scene.services.filters.all(scene.alice.id):
        await scene.services.filters.delete(account_id=scene.alice.id, number=each.id)


EVERYWHERE = frozenset(PROBES)
AMONG_STRANGERS = frozenset({"tag", "public", "popular", "search"})
SOUGHT = frozenset({"profile", "post"})
OF_READER = EVERYWHERE - {"feed"}  # a decision of one reader does not affect other readers
ACTIONS: dict[str, Action] = {
    "block": Action(lambda s: s.alice.blocks(s.bob), unblock, OF_READER),
    "be blocked": Action(lambda s: s.bob.blocks(s.alice), unblocked, OF_READER),
    "mute": Action(lambda s: s.alice.mutes(s.bob), lambda s: s.alice.unmutes(s.bob), OF_READER - SOUGHT),
    "mute for an hour": Action(
        lambda s: s.alice.mutes(s.bob, s.now_ms + 3_600_000),
        lambda s: s.alice.mutes(s.bob, s.now_ms),
        OF_READER - SOUGHT,
    ),
    "suspend": Action(
        lambda s: s.services.accounts.suspend(account_id=s.bob.id),
        lambda s: s.services.accounts.reinstate(account_id=s.bob.id),
        EVERYWHERE,
    ),
    "delete": Action(lambda s: s.services.accounts.delete(account_id=s.bob.id), None, EVERYWHERE),
    "lock, to a follower": Action(
        lambda s: s.bob.locks(), lambda s: s.bob.locks(private=False), AMONG_STRANGERS | {"feed"}
    ),
    "lock, to others": Action(locked_out, let_in, EVERYWHERE),
    "limit, to a follower": Action(
        lambda s: s.services.accounts.restrict(s.bob.id, "limit", 1),
        lambda s: s.services.accounts.restrict(s.bob.id, "limit", 0),
        AMONG_STRANGERS | {"feed", "public list"},
    ),
    "limit, to others": Action(limited_to_others, unlimited, EVERYWHERE),
    "unfollow": Action(lambda s: s.alice.unfollows(s.bob), lambda s: s.alice.follows(s.bob), frozenset({"home"})),
    "hide boosts": Action(quiet, unquiet, frozenset({"boost"})),
    "mute the booster": Action(
        lambda s: s.alice.mutes(s.carol), lambda s: s.alice.unmutes(s.carol), frozenset({"boost"})
    ),
    "filter": Action(hide_word, show_word, OF_READER - SOUGHT - {"notification"}),
}


async def places_that_show(scene: VisibilityScenario) -> set[str]:
    return {place for place, probe in PROBES.items() if await probe(scene)}


@pytest.mark.parametrize("action", ACTIONS)
async def test_an_act_hides_the_post_at_once_and_its_undo_shows_it_again(
    scene: VisibilityScenario, action: str
) -> None:
    """Every place is read before the act, after it, after a repeat of the act, and after the undo."""
    act, visible = ACTIONS[action], EVERYWHERE - ACTIONS[action].hides
    assert await places_that_show(scene) == EVERYWHERE
    await act.do(scene)
    assert await places_that_show(scene) == visible
    await act.do(scene)
    assert await places_that_show(scene) == visible
    if act.undo is not None:
        await act.undo(scene)
        assert await places_that_show(scene) == EVERYWHERE


@pytest.mark.parametrize(
    "action", ["block", "be blocked", "mute", "suspend", "lock, to others", "limit, to others", "unfollow"]
)
async def test_the_act_hides_posts_published_and_delivered_later(scene: VisibilityScenario, action: str) -> None:
    act = ACTIONS[action]
    await act.do(scene)
    later = await scene.bob.publishes("later tea") if action != "suspend" else None
    await scene.world.deliver_all()
    assert later is None or later.id not in await scene.alice.home_ids()
    assert act.undo is not None
    await act.undo(scene)
    assert later is None or later.id in await scene.alice.home_ids()


async def test_a_muted_author_is_shown_only_on_their_own_profile(scene: VisibilityScenario) -> None:
    """A mute, unlike a block, keeps the author's own profile visible; boosts on other profiles are hidden."""

    async def boosted_on(person: Person) -> bool:
        page = await scene.services.reading.profile(person.id, viewer_id=scene.alice.id)
        return scene.post.id in [entry.post.boost_of for entry in page.entries]

    for person in (scene.alice, scene.bob):
        await scene.services.reactions.boost(account_id=person.id, post_id=scene.post.id, now_ms=scene.now_ms)
    everybody = (scene.alice, scene.bob, scene.carol)
    assert [await boosted_on(person) for person in everybody] == [True, True, True]
    await scene.alice.mutes(scene.bob)
    assert [await boosted_on(person) for person in everybody] == [True, True, False]
    await scene.alice.unmutes(scene.bob)
    assert [await boosted_on(person) for person in everybody] == [True, True, True]


async def test_a_lost_home_timeline_is_rebuilt_without_hidden_authors(scene: VisibilityScenario) -> None:
    await scene.alice.mutes(scene.bob)
    await scene.services.repositories.homes.invalidate(scene.alice.id)
    assert not await on_home(scene)
    await scene.alice.unmutes(scene.bob)
    assert await on_home(scene)
