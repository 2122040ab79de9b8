"""Polls: each account votes once, results stay hidden until the vote, and the end is announced once."""

import asyncio
from dataclasses import dataclass

import pytest
from msgspec import structs

from socialsite.container import Services
from tests.support.world import Person, World
from timelines import keys
from timelines.errors import AlreadyVoted, PollEnded, PostNotFound, VoteInvalid
from timelines.notifications.kinds import POLL
from timelines.notifications.notification import Selection
from timelines.pages.page import HydratedPost, PollState
from timelines.posts.poll_votes import VoteResult
from timelines.posts.post import FOLLOWERS, Poll, Post, encode_post
from timelines.publishing.poll_form import PollForm

HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Polls:
    """Publishes polls, votes in them and reads them."""

    services: Services

    async def published_by(self, author: Person, *options: str, multiple: bool = False, audience: int = 0) -> Post:
        now_ms = self.services.clock.now_ms()
        return await self.services.publishing.publish(
            author_id=author.id,
            text="What do you prefer?",
            now_ms=now_ms,
            audience=audience,
            poll=PollForm(options or ("tea", "coffee"), "3600", multiple),
        )

    async def vote(self, voter: Person, post: Post, *choices: int) -> HydratedPost:
        return await self.services.polls.vote(account_id=voter.id, post_id=post.id, choices=choices)

    async def state(self, viewer: Person | None, post: Post) -> PollState:
        entry = await self.services.pipeline.find_visible(viewer and viewer.id, post.id)
        assert entry is not None
        assert entry.poll is not None
        return entry.poll

    async def end(self, post: Post) -> None:
        """Move the end of a poll into the past, in the post and in the queue of due polls."""
        services = self.services
        assert post.details
        assert post.details.poll
        past = services.clock.now_ms() - 1
        await services.repositories.poll_votes.ends.add(post.id, past)
        poll = structs.replace(post.details.poll, ends_ms=past)
        key = keys.post(post.id)
        ended = structs.replace(post, details=structs.replace(post.details, poll=poll))
        await services.store.node(key).execute("SET", key, encode_post(ended))
        services.repositories.posts._cache._posts.clear()  # the process has read the post before


@pytest.fixture
def polls(services: Services) -> Polls:
    return Polls(services)


async def test_a_vote_is_counted_once_and_cannot_be_changed(world: World, polls: Polls) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    post = await polls.published_by(alice)
    for _ in range(2):
        assert (await polls.vote(bob, post, 1)).poll == PollState(voters=1, votes=(0, 1), own=(1,))
    with pytest.raises(AlreadyVoted):
        await polls.vote(bob, post, 0)
    assert (await polls.vote(carol, post, 0)).poll == PollState(voters=2, votes=(1, 1), own=(0,))


async def test_results_are_hidden_until_the_vote_or_the_end(world: World, polls: Polls) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    post = await polls.published_by(alice)
    await polls.vote(bob, post, 0)
    assert await polls.state(carol, post) == PollState(voters=1, votes=None, may_vote=True)
    assert await polls.state(None, post) == PollState(voters=1, votes=None)
    assert await polls.state(alice, post) == PollState(voters=1, votes=(1, 0))
    await polls.end(post)
    for viewer in (carol, None):
        assert await polls.state(viewer, post) == PollState(voters=1, votes=(1, 0), is_over=True)
    with pytest.raises(PollEnded):
        await polls.vote(carol, post, 0)


async def test_several_choices_need_a_poll_that_allows_them(alice: Person, bob: Person, polls: Polls) -> None:
    one, several = await polls.published_by(alice), await polls.published_by(alice, "a", "b", "c", multiple=True)
    for choices in ((), (0, 1), (2,), (-1,)):
        with pytest.raises(VoteInvalid):
            await polls.vote(bob, one, *choices)
    assert (await polls.vote(bob, several, 0, 2)).poll == PollState(voters=1, votes=(1, 0, 1), own=(0, 2))
    with pytest.raises(VoteInvalid):
        await polls.vote(alice, one, 0)  # the author's own poll


async def test_only_readers_of_the_post_vote(alice: Person, bob: Person, carol: Person, polls: Polls) -> None:
    await bob.follows(alice)
    post = await polls.published_by(alice, audience=FOLLOWERS)
    with pytest.raises(PostNotFound):
        await polls.vote(carol, post, 0)
    await polls.vote(bob, post, 0)
    await alice.blocks(bob)
    with pytest.raises(PostNotFound):
        await polls.vote(bob, post, 0)


async def test_concurrent_votes_are_counted_exactly(alice: Person, services: Services, polls: Polls) -> None:
    post = await polls.published_by(alice, "a", "b", "c", "d")
    assert post.details
    assert post.details.poll
    votes, now_ms = services.repositories.poll_votes, services.clock.now_ms()
    results = await asyncio.gather(
        *(votes.vote(post.id, post.details.poll, 10_000 + n // 2, [n % 4], now_ms) for n in range(1_000))
    )
    assert results.count(VoteResult.STORED) == results.count(VoteResult.VOTED_BEFORE) == 500
    state = await polls.state(alice, post)
    assert state.voters == sum(state.votes or ()) == 500


async def test_a_vote_for_changed_options_is_refused(world: World, services: Services, polls: Polls) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await polls.published_by(alice)
    stale = Poll(("tea", "coffee"), False, services.clock.now_ms() + HOUR_MS, round=7)
    result = await services.repositories.poll_votes.vote(post.id, stale, bob.id, [0], services.clock.now_ms())
    assert result is VoteResult.NO_POLL


async def test_the_end_is_announced_once_to_the_author_and_the_voters(
    world: World, alice: Person, bob: Person, carol: Person, services: Services, polls: Polls
) -> None:
    post = await polls.published_by(alice)
    await world.deliver_all()
    await polls.vote(bob, post, 0)
    assert await services.polls.notify_of_ended_polls() == 0
    for _ in range(2):
        await polls.end(post)
        assert await services.polls.notify_of_ended_polls() == 1
    assert await services.polls.notify_of_ended_polls() == 0
    for reader, count in ((alice, 1), (bob, 1), (carol, 0)):
        page = await services.notifications.page(reader.id, selection=Selection([POLL]))
        assert [each.entry and each.entry.id for each in page.entries] == [post.id] * count


async def test_deletions_leave_no_votes(world: World, services: Services, polls: Polls) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    kept, deleted = await polls.published_by(alice), await polls.published_by(alice)
    for post in (kept, deleted):
        await polls.vote(bob, post, 0)
    await polls.vote(carol, kept, 1)
    await alice.deletes(deleted)
    for key in (keys.poll_votes(deleted.id), keys.poll_tally(deleted.id)):
        assert not await services.store.node(key).execute("EXISTS", key)
    await services.accounts.delete(account_id=bob.id)
    await world.deliver_all()
    assert await polls.state(alice, kept) == PollState(voters=1, votes=(0, 1))
    key = keys.voted_polls(bob.id)
    assert not await services.store.node(key).execute("EXISTS", key)
