"""Likes and bookmarks: counts stay right after repetitions, interruptions and concurrent requests."""

import asyncio

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from tests.support.reactions import PersonReactions
from tests.support.world import Person, World
from timelines import keys
from timelines.errors import PostNotFound
from timelines.posts.post import PostCounts
from timelines.reactions.bookmarks import BookmarkCursor, Bookmarks
from timelines.reactions.repository import PostGone, ReactionKind, Reactions


async def test_a_like_is_counted_immediately_and_once(alice: Person, bob: Person, acts: PersonReactions) -> None:
    post = await alice.publishes("hello")
    answers = await asyncio.gather(*(acts.likes(bob, post) for _ in range(8)))
    answers.append(await acts.likes(bob, post))
    assert [answer.counts.likes for answer in answers] == [1] * 9
    assert all(answer.viewer and answer.viewer.liked for answer in answers)
    assert (await acts.likes(alice, post)).counts == await acts.read_counts(post) == PostCounts(likes=2)
    assert (await bob.home()).entries == ()
    assert await acts.likers(post) == [alice.id, bob.id]


async def test_an_unlike_removes_the_like_and_a_repetition_changes_nothing(world: World, acts: PersonReactions) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    await acts.likes(bob, post)
    for _ in range(2):
        answer = await acts.unlikes(bob, post)
        assert answer.counts == PostCounts()
        assert answer.viewer
        assert not answer.viewer.liked
    assert await acts.counts_text(post.id) is None
    assert await acts.read_indexes(bob) == (set(), set())


async def test_repeating_a_like_finishes_an_interrupted_like(
    alice: Person, bob: Person, services: Services, acts: PersonReactions
) -> None:
    post = await alice.publishes("hello")
    await services.repositories.reactions.add(ReactionKind.LIKE, post.id, bob.id, services.clock.now_ms())
    assert await acts.read_indexes(bob) == (set(), set())
    await acts.likes(bob, post)
    assert (await acts.read_counts(post)).likes == 1
    assert await acts.read_indexes(bob) == ({post.id}, set())
    await services.repositories.reactions.remove(ReactionKind.LIKE, post.id, bob.id)
    assert await acts.read_indexes(bob) == ({post.id}, set())
    await acts.unlikes(bob, post)
    assert await acts.read_indexes(bob) == (set(), set())


async def test_concurrent_likes_and_unlikes_keep_both_sides_consistent(world: World, acts: PersonReactions) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    for _ in range(20):
        await asyncio.gather(*(acts.likes(bob, post) if n % 2 else acts.unlikes(bob, post) for n in range(6)))
        counted = (await acts.read_counts(post)).likes
        assert (await acts.read_indexes(bob))[0] == ({post.id} if counted else set())


async def test_a_deleted_post_cannot_be_liked(world: World, services: Services, acts: PersonReactions) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    await acts.likes(bob, post)
    await alice.deletes(post)
    assert await acts.counts_text(post.id) is None
    with pytest.raises(PostGone):
        await services.repositories.reactions.add(ReactionKind.LIKE, post.id, alice.id, 1)
    for act in (acts.likes, acts.unlikes, acts.bookmarks, acts.boosts):
        with pytest.raises(PostNotFound):
            await act(bob, post)


async def test_a_deleted_post_keeps_its_number_of_replies(alice: Person, bob: Person, acts: PersonReactions) -> None:
    post = await alice.publishes("hello")
    await bob.publishes("an answer", in_reply_to=post)
    await acts.likes(bob, post)
    await alice.deletes(post)
    assert await acts.counts_text(post.id) == b"1 0 0"


async def test_the_page_of_likers_omits_hidden_accounts(
    alice: Person, bob: Person, carol: Person, dave: Person, services: Services, acts: PersonReactions
) -> None:
    post = await alice.publishes("hello")
    for person in (alice, bob, carol, dave):
        await acts.likes(person, post)
    await services.accounts.suspend(account_id=carol.id)
    blocks = keys.blocks(alice.id)
    await services.store.node(blocks).execute("ZADD", blocks, 1, bob.id)
    assert await acts.likers(post, alice, limit=1) == [dave.id, alice.id]
    assert await acts.likers(post, limit=2) == [dave.id, bob.id, alice.id]
    assert (await acts.read_counts(post)).likes == 4


async def test_boosts_of_a_private_account_are_shown_only_to_its_followers(
    alice: Person, bob: Person, carol: Person, dave: Person, services: Services, acts: PersonReactions
) -> None:
    """A boost is a post of its booster, with the same visibility."""
    post = await alice.publishes("hello")
    await carol.follows(bob)
    await bob.locks()
    await acts.boosts(bob, post)
    await acts.boosts(dave, post)

    async def boosters(viewer_id: AccountId | None) -> set[AccountId]:
        page = await services.reactions.boosters(post.id, viewer_id=viewer_id)
        return set(page.account_ids)

    assert await boosters(None) == await boosters(alice.id) == {dave.id}
    assert await boosters(carol.id) == await boosters(bob.id) == {bob.id, dave.id}


async def test_likers_with_equal_times_are_listed_once_each(
    world: World, alice: Person, services: Services, acts: PersonReactions
) -> None:
    post = await alice.publishes("hello")
    others = await world.people(*(f"p{n}" for n in range(12)))
    for person in others:
        await services.repositories.reactions.add(ReactionKind.LIKE, post.id, person.id, 5)
    for limit in (1, 3, 5, 12, 13):
        assert sorted(await acts.likers(post, limit=limit)) == sorted(person.id for person in others)


async def test_bookmarks_are_paged_in_both_directions(world: World, services: Services, acts: PersonReactions) -> None:
    alice, bob = await world.people("alice", "bob")
    posts = [await alice.publishes(f"post {n}") for n in range(25)]
    for n, post in enumerate(posts):
        await services.repositories.bookmarks.add(bob.id, post.id, n // 4)
    await alice.deletes(posts[7])
    expected = [entry for entry in await acts.bookmark_ids(bob) if entry != posts[7].id]
    assert set(expected) == {post.id for post in posts} - {posts[7].id}
    for limit in (1, 4, 7, 24, 30):
        down, cursor = [], None
        while True:
            page = await services.reactions.bookmarks(bob.id, cursor=cursor, limit=limit)
            down += [entry.post.id for entry in page.entries]
            last, cursor = page, page.next
            if cursor is None:
                break
        assert down == expected
        up = [entry.post.id for entry in last.entries]
        while (cursor := last.previous) is not None:
            last = await services.reactions.bookmarks(bob.id, cursor=cursor, limit=limit)
            up = [entry.post.id for entry in last.entries] + up
        assert up == expected


async def test_an_empty_page_of_bookmarks_has_a_previous_page(
    alice: Person, services: Services, acts: PersonReactions
) -> None:
    post = await alice.publishes("hello")
    await acts.bookmarks(alice, post)
    first = (await services.repositories.bookmarks.read(alice.id, None, 1, upward=False))[0]
    beyond = await services.reactions.bookmarks(alice.id, cursor=BookmarkCursor(first))
    assert beyond.entries == ()
    assert beyond.previous
    back = await services.reactions.bookmarks(alice.id, cursor=beyond.previous)
    assert [entry.post.id for entry in back.entries] == [post.id]


async def test_a_bookmark_is_private_and_keeps_its_position(alice: Person, bob: Person, acts: PersonReactions) -> None:
    one, two = await alice.publishes("one"), await alice.publishes("two")
    for post in (one, two, one):
        answer = await acts.bookmarks(bob, post)
        assert answer.viewer
        assert answer.viewer.bookmarked
        assert answer.counts == PostCounts()
    assert await acts.bookmark_ids(bob) == [two.id, one.id]
    for _ in range(2):
        answer = await acts.unbookmarks(bob, two)
        assert answer.viewer
        assert not answer.viewer.bookmarked
    assert await acts.bookmark_ids(bob) == [one.id]
    assert await acts.bookmark_ids(alice) == []


async def test_the_oldest_bookmarks_are_dropped_above_the_cap(world: World, services: Services) -> None:
    few = Bookmarks(services.store, cap=3)
    owner = AccountId(7)
    for number in range(1, 6):
        await few.add(owner, PostId(number), number)
    assert [place.post_id for place in await few.read(owner, None, 9, upward=False)] == [5, 4, 3]


async def test_a_deleted_accounts_reactions_are_deleted(
    world: World, alice: Person, bob: Person, services: Services, acts: PersonReactions
) -> None:
    posts = [await alice.publishes(f"post {n}") for n in range(3)]
    for post in posts:
        for act in (acts.likes, acts.boosts, acts.bookmarks):
            await act(bob, post)
        await acts.likes(alice, post)
    assert await acts.read_counts(posts[0]) == PostCounts(boosts=1, likes=2)
    await services.accounts.delete(account_id=bob.id)
    await world.deliver_all()
    for post in posts:
        assert await acts.read_counts(post) == PostCounts(likes=1)
        assert await acts.likers(post) == [alice.id]
    assert await acts.read_indexes(bob) == (set(), set())
    assert await acts.bookmark_ids(bob) == []


async def test_large_scores_are_read_in_any_notation(services: Services) -> None:
    reactions, post = Reactions(services.store), PostId(77)
    key = keys.boosts(post)
    await services.store.node(key).execute("ZADD", key, str((1 << 53) - 1), 5)
    assert await reactions.find_score(ReactionKind.BOOST, post, AccountId(5)) == (1 << 53) - 1
    assert await reactions.remove(ReactionKind.BOOST, post, AccountId(5), only_at=(1 << 53) - 2) is False
    assert await reactions.remove(ReactionKind.BOOST, post, AccountId(5), only_at=(1 << 53) - 1) is True


@pytest.mark.parametrize("blocker", ["author", "reader"])
async def test_a_reaction_to_a_hidden_post_can_be_undone(
    alice: Person, bob: Person, services: Services, acts: PersonReactions, blocker: str
) -> None:
    post = await alice.publishes("not for bob")
    for act in (acts.likes, acts.boosts, acts.bookmarks):
        await act(bob, post)
    who, other = (alice, bob) if blocker == "author" else (bob, alice)
    await who.blocks(other)
    for act in (acts.unlikes, acts.unboosts, acts.unbookmarks):
        undone = await act(bob, post)
        assert (undone.post.id, undone.post.text, undone.author.id) == (post.id, "", alice.id)
        with pytest.raises(PostNotFound):  # nothing is left to undo, and the answer is that to a stranger
            await act(bob, post)
    assert await acts.read_counts(post) == PostCounts()
    assert await acts.bookmark_ids(bob) == []
