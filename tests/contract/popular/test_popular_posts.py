"""Popular posts: who counts, how counts age, which posts are left out, and that all of it is bounded."""

from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random

import pytest
from msgspec import structs

from accounts.domain import Preferences
from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.recipes.distinct_ranking import uses_key
from socialsite.store import Store
from tests.support.nodes import run_command
from tests.support.reactions import PersonReactions
from tests.support.world import Person, World
from timelines import keys
from timelines.popular import repository, service
from timelines.popular.repository import POPULAR, PopularPosts
from timelines.posts.post import FOLLOWERS, UNLISTED, Post, PostDetails

HOUR_MS = 3_600_000


@pytest.fixture
def popular(services: Services) -> PopularPosts:
    return services.repositories.popular


async def shown(world: World, viewer: Person | None = None, *languages: str, refill: bool = True) -> list[str]:
    """Return the texts of the popular posts, the most popular first."""
    if refill:
        await world.services.popular.refill()
    entries, _ = await world.services.popular.read(viewer.id if viewer else None, languages, offset=0, limit=50)
    return [entry.post.text for entry in entries]


async def like_twice(world: World, acts: PersonReactions, *posts: Post) -> None:
    for liker in (await world.person("liker1"), await world.person("liker2")):
        for post in posts:
            await acts.likes(liker, post)


async def test_one_account_counts_once_however_it_reacts_and_never_for_its_own_post(
    world: World, alice: Person, bob: Person, carol: Person, acts: PersonReactions
) -> None:
    post = await alice.publishes("mine")
    for person in (alice, bob):
        await acts.likes(person, post)
        await acts.boosts(person, post)
        await person.publishes("an answer", in_reply_to=post)
        await acts.unlikes(person, post)
        await acts.likes(person, post)
    await world.deliver_all()
    assert await shown(world) == []
    await carol.publishes("another answer", in_reply_to=post)
    await world.deliver_all()
    assert await shown(world) == ["mine"]


async def test_a_reaction_that_was_taken_back_counts_no_longer(world: World, acts: PersonReactions) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    post = await alice.publishes("post")
    await acts.likes(bob, post)
    await acts.boosts(bob, post)
    await acts.boosts(carol, post)
    await acts.unlikes(bob, post)
    assert await shown(world) == ["post"]  # Bob's boost remains
    await acts.unboosts(bob, post)
    assert await shown(world) == []


async def test_limited_accounts_do_not_count(world: World, acts: PersonReactions) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    post = await alice.publishes("post")
    await world.services.accounts.restrict(bob.id, "limit", 1)
    await acts.likes(bob, post)
    await acts.likes(carol, post)
    assert await shown(world) == []


def _hide(old: Preferences) -> Preferences:
    return structs.replace(old, is_discoverable=False)


ACTS: dict[str, Callable[[Services, Person, Post], Awaitable[object]]] = {
    "locks": lambda services, author, post: author.locks(),
    "is limited": lambda services, author, post: services.accounts.restrict(author.id, "limit", 1),
    "is suspended": lambda services, author, post: services.accounts.suspend(account_id=author.id),
    "deletes": lambda services, author, post: author.deletes(post),
    "is held back": lambda services, author, post: services.site.change(
        held_accounts=lambda old: (*old, str(author.id))
    ),
    "post is held back": lambda services, author, post: services.site.change(
        held_posts=lambda old: (*old, str(post.id))
    ),
    "is not discoverable": lambda services, author, post: services.accounts.change_preferences(
        account_id=author.id, change=_hide
    ),
    "is marked as sensitive": lambda services, author, post: author.edits(
        post, post.text, details=PostDetails(sensitive=True)
    ),
    "is folded": lambda services, author, post: services.edits.set_fold(
        post.id, is_folded=True, warning="insults", now_ms=services.clock.now_ms()
    ),
}


@pytest.mark.parametrize("refill", [True, False])
@pytest.mark.parametrize("act", ACTS)
async def test_a_post_that_may_not_be_recommended_leaves_the_popular_posts(
    world: World, acts: PersonReactions, act: str, refill: bool
) -> None:
    """It leaves before the worker writes the rankings again; only the choice not to be suggested needs the worker."""
    alice = await world.person("alice")
    post = await alice.publishes("post")
    await like_twice(world, acts, post)
    assert await shown(world) == ["post"]
    await ACTS[act](world.services, alice, post)
    is_late = act == "is not discoverable" and not refill
    assert await shown(world, refill=refill) == (["post"] if is_late else [])


async def test_only_public_first_posts_are_popular_one_of_each_author(world: World, acts: PersonReactions) -> None:
    alice, bob, reader = await world.people("alice", "bob", "reader")
    await reader.follows(alice)
    first, second = await alice.publishes("first"), await alice.publishes("second")
    hidden = [await alice.publishes("quiet", audience=audience) for audience in (UNLISTED, FOLLOWERS)]
    answer = await bob.publishes("answer", in_reply_to=first)
    await like_twice(world, acts, first, second, hidden[0], answer)
    await acts.likes(reader, hidden[1])
    await acts.likes(reader, second)
    await world.deliver_all()
    assert await shown(world) == ["second"]


async def test_readers_with_chosen_languages_get_the_ranking_of_these_languages(
    world: World, acts: PersonReactions
) -> None:
    people = await world.people("anna", "bea", "chloe", "reader")
    posts = [
        await author.publishes(text, details=PostDetails(language=language))
        for author, text, language in zip(people, ("deutsch", "français", "mm", ""), ("de", "fr", None), strict=False)
    ]
    await like_twice(world, acts, *posts)
    await acts.likes(people[3], posts[1])
    assert await shown(world) == ["français", "mm", "deutsch"]
    preferred, _ = await world.services.popular.read(None, (), "de", offset=0, limit=2)
    assert [entry.post.text for entry in preferred] == ["deutsch", "français"]
    assert sorted(await shown(world, people[3], "de")) == ["deutsch", "mm"]
    await people[0].deletes(posts[0])
    assert await shown(world, people[3], "de") == ["mm"]
    index = keys.popular_languages()
    assert sorted(await run_command(world.services.store, "ZRANGE", index, 0, -1)) == [b"all", b"fr", b"none"]


async def test_counts_age_and_end(popular: PopularPosts, services: Services) -> None:
    now_ms = services.clock.now_ms()
    window_ms = POPULAR.window_ms

    async def counted(post_id: int, accounts: int, at_ms: int) -> None:
        for number in range(1, accounts + 1):
            assert await popular.count(AccountId(number), PostId(post_id), at_ms)

    await counted(1, 2, now_ms)
    await counted(2, 3, now_ms - 8 * HOUR_MS)
    await counted(3, 9, now_ms - 24 * HOUR_MS)
    await counted(4, 9, now_ms - window_ms - 2 * HOUR_MS)
    weights = await popular.candidates(now_ms, 10)
    assert list(weights) == [1, 2, 3]
    assert weights[PostId(2)] / 3 == pytest.approx(weights[PostId(1)] / 2 / 2, rel=0.2)
    assert not await popular.count(AccountId(1), PostId(2), now_ms), "an account counts once in the window"
    assert await popular.count(AccountId(1), PostId(4), now_ms)


@pytest.mark.parametrize("seed", range(3))
async def test_the_counts_are_those_of_a_model(popular: PopularPosts, services: Services, seed: int) -> None:
    """Random counts and withdrawals, repeated and in any order of time, are those of a set of pairs."""
    draw, now_ms = Random(seed), services.clock.now_ms()
    model: dict[int, dict[int, int]] = defaultdict(dict)
    for _ in range(150):
        account, post = draw.randrange(1, 5), draw.randrange(1, 7)
        at_ms = now_ms - draw.randrange(20) * HOUR_MS
        if draw.random() < 0.7:
            assert (await popular.count(AccountId(account), PostId(post), at_ms)) is (account not in model[post])
            model[post].setdefault(account, at_ms)
        else:
            assert await popular.withdraw(AccountId(account), PostId(post)) is (account in model[post])
            model[post].pop(account, None)
    weights = await popular.candidates(now_ms, 10)
    assert set(weights) == {post for post, accounts in model.items() if len(accounts) >= 2}
    for post, weight in weights.items():
        starts = [POPULAR.rollup.interval_start(at_ms) for at_ms in model[post].values()]
        expected = sum(0.5 ** ((now_ms // 1_000 - start) / POPULAR.half_life_s) for start in starts)
        assert weight == pytest.approx(expected)


async def test_counts_and_rankings_are_bounded(
    popular: PopularPosts, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(POPULAR, uses_cap=30, members_cap=5)
    monkeypatch.setattr(popular._counts, "_spec", small)
    now_ms = services.clock.now_ms()
    for account in (1, 2):
        await popular.count(AccountId(account), PostId(1), now_ms)
    for post in range(2, 60):
        await popular.count(AccountId(1), PostId(post), now_ms)
    interval = small.interval_key(small.rollup.interval_start(now_ms))
    assert await run_command(services.store, "ZCARD", uses_key("popular")) == 30
    assert await run_command(services.store, "ZCARD", interval) <= 10
    assert await run_command(services.store, "TTL", interval) > 0
    assert list(await popular.candidates(now_ms, 10)) == [1]


async def test_a_ranking_keeps_its_cap_and_ends_with_its_uses(
    world: World, acts: PersonReactions, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    monkeypatch.setattr(service, "RANKING_CAP", 2)
    people = await world.people("a1", "a2", "a3")
    await like_twice(world, acts, *[await each.publishes(each.handle) for each in people])
    assert len(await shown(world)) == 2
    key = keys.popular_posts(repository.ALL_LANGUAGES)
    assert 0 < await run_command(world.services.store, "PTTL", key) <= POPULAR.window_ms


async def test_a_page_is_shorter_by_hidden_posts_and_names_the_next(world: World, acts: PersonReactions) -> None:
    *people, reader = await world.people("a1", "a2", "a3", "reader")
    await like_twice(world, acts, *[await each.publishes(each.handle) for each in people])
    await world.services.popular.refill()
    await reader.blocks(people[2])
    pages = []
    offset: int | None = 0
    while offset is not None:
        entries, offset = await world.services.popular.read(reader.id, (), offset=offset, limit=2)
        pages.append([entry.post.text for entry in entries])
    assert sorted(text for page in pages for text in page) == ["a1", "a2"]
    assert len(pages) == 2
