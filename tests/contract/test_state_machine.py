"""The service layer against a plain dict model, in every order that hypothesis finds.

Post, answer, delete, follow, ask, accept, unfollow, block, mute, quiet, like, boost, bookmark, lists, suspend
and reinstate, private accounts, a worker that stops half-way or does its jobs twice, and the loss of caches.
After a step that takes a right away nobody may see what it hid; after each calm every page of every reader is
the model's, read by cursors both ways.

`STATE_STEPS=10000` makes the run as long as the figure in docs/reliability.md.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from accounts.domain import AccountId
from socialsite.clock import FixedClock
from socialsite.configuration import Configuration
from socialsite.ids import PostId
from socialsite.services import build_services
from socialsite.store import open_store
from tests.support.site_model import SiteModel, Written
from tests.support.topologies import Deployment
from tests.support.world import World
from timelines import keys
from timelines.domain.account_list import ListId
from timelines.domain.page import HydratedPost, TimelinePage
from timelines.domain.rights import FOREVER

SMALL = Configuration(home_cap=6, list_cap=6, posts_per_pass=2, read_ahead=1)
"""Floors, trims and passes all the time."""
PULLING = replace(SMALL, pull_threshold=1, pull_grace_ms=3_000)
PEOPLE = 4
STEPS_EACH = 60
STEPS = int(os.environ.get("STATE_STEPS", "900"))
PAUSES_MS = st.sampled_from([0, 1, 900, 5_000, 3_600_000, 90_000_000])
WHO = st.integers(0, PEOPLE - 1)
WHICH = st.integers(0, 1_000)

Answer = TypeVar("Answer")
ReadPage = Callable[..., Awaitable[TimelinePage]]


class SiteMachine(RuleBasedStateMachine):
    """One history. `deployment` and `config` are set by the test."""

    deployment: Deployment
    config: Configuration = SMALL

    def __init__(self) -> None:
        super().__init__()
        self.deployment.flush()
        self.runner = asyncio.Runner()
        self.clock = FixedClock(1_900_000_000_000)
        self.model = SiteModel(now_ms=self.clock.now_ms())
        self.changed = False

    def does(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return self.runner.run(work)

    @initialize()
    def begin(self) -> None:
        self.does(self._begin())

    async def _begin(self) -> None:
        self.store = await open_store(self.deployment.urls)
        self.services = build_services(self.store, self.clock, self.config)
        self.world = World(self.services)
        await self.services.outbox.prepare()
        people = await self.world.people(*(f"p{number}" for number in range(PEOPLE)))
        self.model.people = [person.id for person in people]

    def teardown(self) -> None:
        try:
            self.calm()
        finally:
            self.does(self.store.close())
            self.runner.close()

    # Who and what

    def active(self, who: int) -> AccountId:
        """Somebody who is not suspended; one always is there."""
        active = [id for id in self.model.people if id not in self.model.suspended]
        return AccountId(active[who % len(active)])

    def two(self, who: int, other: int) -> tuple[AccountId, AccountId] | None:
        """Two active accounts without a block between them."""
        one, another = self.active(who), self.active(other)
        return None if one == another or self.model.apart(one, another) else (one, another)

    def visible(self, viewer: int, which: int, *, boostable: bool = False) -> PostId | None:
        """A post (no boost) that the viewer sees on its own page."""
        model = self.model
        seen = [
            id for id, post in model.posts.items() if not post.boost_of and model.may_see(viewer, id, "post")
        ]
        if boostable:
            seen = [
                id
                for id in seen
                if model.posts[id].audience < 2 and model.posts[id].author not in model.private
            ]
        return PostId(sorted(seen)[which % len(seen)]) if seen else None

    # Rules

    @rule(pause=PAUSES_MS)
    def time_passes(self, pause: int) -> None:
        self.clock.advance(pause)
        self.model.now_ms = self.clock.now_ms()

    @rule(who=WHO, audience=st.sampled_from([0, 0, 0, 1, 2]), which=WHICH, answers=st.booleans())
    def post(self, who: int, audience: int, which: int, answers: bool) -> None:
        author = self.active(who)
        parent = self.visible(author, which) if answers else None
        work = self.services.publishing.publish(
            author_id=author, text="words", in_reply_to=parent, audience=audience, now_ms=self.clock.now_ms()
        )
        made = self.does(work)
        self.model.posts[made.id] = Written(author, made.audience, None, parent)

    @rule(which=WHICH)
    def delete(self, which: int) -> None:
        own = sorted(id for id, post in self.model.posts.items() if not post.boost_of)
        if not own:
            return
        post_id = PostId(own[which % len(own)])
        author = AccountId(self.model.posts[post_id].author)
        self.does(self.services.publishing.delete(account_id=author, post_id=post_id))
        self.model.delete(post_id)
        self.changed = True

    @rule(who=WHO, other=WHO)
    def follow(self, who: int, other: int) -> None:
        if pair := self.two(who, other):
            one, another = pair
            work = self.services.following.follow(
                follower_id=one, followed_id=another, now_ms=self.clock.now_ms()
            )
            self.does(work)
            self.model.follow(one, another)

    @rule(which=WHICH, let_in=st.booleans())
    def answer_a_request(self, which: int, let_in: bool) -> None:
        asked = sorted(
            (one, other) for one, other in self.model.requests if not {one, other} & self.model.suspended
        )
        if not asked:
            return
        one, other = asked[which % len(asked)]
        ids = {"account_id": AccountId(other), "requester_id": AccountId(one)}
        if let_in:
            self.does(self.services.requests.accept(**ids, now_ms=self.clock.now_ms()))
            self.model.follows.add((one, other))
        else:
            self.does(self.services.requests.refuse(**ids))
        self.model.requests.discard((one, other))

    @rule(who=WHO, other=WHO)
    def unfollow(self, who: int, other: int) -> None:
        one, another = self.active(who), self.active(other)
        self.does(self.services.following.unfollow(follower_id=one, followed_id=another))
        self.model.follows.discard((one, another))
        self.model.requests.discard((one, another))
        self.changed = True

    @rule(who=WHO, other=WHO, on=st.booleans())
    def block(self, who: int, other: int, on: bool) -> None:
        one, another = self.active(who), self.active(other)
        if one == another:
            return
        if on:
            work = self.services.relations.block(account_id=one, other_id=another, now_ms=self.clock.now_ms())
            self.does(work)
            self.model.block(one, another)
            self.changed = True
        else:
            self.does(self.services.relations.unblock(account_id=one, other_id=another))
            self.model.blocks.discard((one, another))

    @rule(who=WHO, other=WHO, hours=st.sampled_from([None, 1, 0]))
    def mute(self, who: int, other: int, hours: int | None) -> None:
        """For good, for an hour, or not any more."""
        one, another = self.active(who), self.active(other)
        if one == another:
            return
        now_ms = self.clock.now_ms()
        if hours == 0:
            self.does(self.services.relations.unmute(account_id=one, other_id=another))
            self.model.mutes.pop((one, another), None)
            return
        until_ms = None if hours is None else now_ms + hours * 3_600_000
        work = self.services.relations.mute(
            account_id=one, other_id=another, now_ms=now_ms, until_ms=until_ms
        )
        self.does(work)
        self.model.mutes[one, another] = FOREVER if until_ms is None else until_ms
        self.changed = True

    @rule(who=WHO, other=WHO, on=st.booleans())
    def quiet(self, who: int, other: int, on: bool) -> None:
        one, another = self.active(who), self.active(other)
        if one == another:
            return
        relations = self.services.relations
        if on:
            self.does(relations.quiet(account_id=one, other_id=another, now_ms=self.clock.now_ms()))
            self.model.quieted.add((one, another))
        else:
            self.does(relations.unquiet(account_id=one, other_id=another))
            self.model.quieted.discard((one, another))

    @rule(who=WHO, which=WHICH, on=st.booleans())
    def like(self, who: int, which: int, on: bool) -> None:
        account = self.active(who)
        if (post_id := self.visible(account, which)) is None:
            return
        reactions, now_ms = self.services.reactions, self.clock.now_ms()
        if on:
            entry = self.does(reactions.like(account_id=account, post_id=post_id, now_ms=now_ms))
        else:
            entry = self.does(reactions.unlike(account_id=account, post_id=post_id))
        change = self.model.likes.add if on else self.model.likes.discard
        change((account, post_id))
        self.holds(account, entry)

    @rule(who=WHO, which=WHICH)
    def boost(self, who: int, which: int) -> None:
        account = self.active(who)
        if (post_id := self.visible(account, which, boostable=True)) is None:
            return
        act = self.services.reactions.boost
        entry = self.does(act(account_id=account, post_id=post_id, now_ms=self.clock.now_ms()))
        if (account, post_id) not in self.model.boosts:
            found = self.does(self.services.reading.profile(account, viewer_id=account, limit=1))
            boost_id = found.entries[0].post.id
            self.model.boosts[account, post_id] = boost_id
            self.model.posts[boost_id] = Written(account, found.entries[0].post.audience, post_id)
        self.holds(account, entry)

    @rule(who=WHO, which=WHICH)
    def unboost(self, who: int, which: int) -> None:
        account = self.active(who)
        if (post_id := self.visible(account, which)) is None:
            return
        entry = self.does(self.services.reactions.unboost(account_id=account, post_id=post_id))
        self.model.unboost(account, post_id)
        self.changed = True
        self.holds(account, entry)

    @rule(who=WHO, which=WHICH, on=st.booleans())
    def bookmark(self, who: int, which: int, on: bool) -> None:
        account = self.active(who)
        if (post_id := self.visible(account, which)) is None:
            return
        reactions = self.services.reactions
        if on:
            self.does(reactions.bookmark(account_id=account, post_id=post_id, now_ms=self.clock.now_ms()))
        else:
            self.does(reactions.unbookmark(account_id=account, post_id=post_id))
        change = self.model.bookmarks.add if on else self.model.bookmarks.discard
        change((account, post_id))

    @rule(who=WHO, other=WHO, on=st.booleans())
    def list_member(self, who: int, other: int, on: bool) -> None:
        """On or off the one list of `who`, which is made first."""
        owner, member = self.active(who), self.active(other)
        lists, now_ms = self.services.lists, self.clock.now_ms()
        list_id = next((id for id, (of, _) in self.model.lists.items() if of == owner), None)
        if list_id is None:
            list_id = self.does(lists.create(owner_id=owner, title="mine", now_ms=now_ms)).id
            self.model.lists[list_id] = (owner, set())
        ids = {"owner_id": owner, "list_id": ListId(list_id), "account_id": member}
        members = self.model.lists[list_id][1]
        if on and not self.model.apart(owner, member):
            self.does(lists.add_member(**ids, now_ms=now_ms))
            members.add(member)
        elif not on:
            self.does(lists.remove_member(**ids))
            members.discard(member)
            self.changed = True

    @precondition(lambda self: len(self.model.suspended) < PEOPLE - 1)
    @rule(who=WHO)
    def suspend(self, who: int) -> None:
        account = self.active(who)
        self.does(self.services.accounts.suspend(account_id=account))
        self.model.suspended.add(account)
        self.changed = True

    @precondition(lambda self: self.model.suspended)
    @rule(which=WHICH)
    def reinstate(self, which: int) -> None:
        suspended = sorted(self.model.suspended)
        account = AccountId(suspended[which % len(suspended)])
        self.does(self.services.accounts.reinstate(account_id=account))
        self.model.suspended.discard(account)

    @rule(who=WHO, on=st.booleans())
    def be_private(self, who: int, on: bool) -> None:
        account = self.active(who)
        edit = self.services.accounts.edit_profile
        self.does(edit(account_id=account, display_name=f"p{account}", bio="", link="", private=on))
        (self.model.private.add if on else self.model.private.discard)(account)
        self.changed = True

    @rule(jobs=st.integers(1, 3), times=st.integers(1, 2), finishes=st.booleans())
    def work(self, jobs: int, times: int, finishes: bool) -> None:
        """A worker does some jobs, perhaps twice; one that dies leaves them owed."""
        self.does(self._work(jobs, times, finishes))

    async def _work(self, jobs: int, times: int, finishes: bool) -> None:
        outbox = self.services.outbox
        for job in await outbox.take("abad1dea", jobs, 1):
            following: tuple[bytes, ...] = ()
            for _ in range(times):
                following = await self.services.syndication.handle(job.payload)
            if finishes:
                await outbox.finish(job, following)
            else:
                await outbox.finish(job, (job.payload,))  # as claimed by another worker: once more, later

    @rule(who=WHO)
    def lose_the_caches_of(self, who: int) -> None:
        owner = self.model.people[who]
        lost = [keys.home_timeline(owner)]
        lost += [keys.list_timeline(id) for id, (of, _) in self.model.lists.items() if of == owner]
        self.does(self.store.gather([("DEL", key) for key in lost]))

    # What must be

    @invariant()
    def nothing_hidden_is_seen(self) -> None:
        """From the answer on, whatever the worker still owes."""
        if not self.changed:
            return
        self.changed = False
        for viewer in self.readers():
            allowed = {*self.model.home(viewer)}
            page = self.does(self.services.reading.home(AccountId(viewer), limit=10))
            assert {entry.post.id for entry in page.entries} <= allowed, f"a ghost in the home of {viewer}"

    @rule()
    def calm(self) -> None:
        self.does(self._calm())

    async def _calm(self) -> None:
        await self.world.work()
        reading, model = self.services.reading, self.model
        for viewer in self.readers():
            me = AccountId(viewer)
            await self.same(f"home of {viewer}", model.home(viewer), viewer, reading.home, me)
            read = reading.public
            await self.same(f"public for {viewer}", model.public(viewer), viewer, read, viewer_id=me)
            for account in model.people:
                expected = model.profile(viewer, account)
                where = f"profile of {account} for {viewer}"
                await self.same(where, expected, viewer, reading.profile, AccountId(account), viewer_id=me)
        for list_id, (owner, _) in model.lists.items():
            if owner not in model.suspended:
                expected, read = model.list_timeline(list_id), reading.list_timeline
                where = f"list of {owner}"
                await self.same(where, expected, owner, read, ListId(list_id), viewer_id=AccountId(owner))
        await self._bookmarks()

    async def _bookmarks(self) -> None:
        model = self.model
        for viewer in self.readers():
            kept = {id for who, id in model.bookmarks if who == viewer and model.may_see(viewer, id, "post")}
            page = await self.services.reactions.bookmarks(AccountId(viewer), limit=100)
            assert {entry.post.id for entry in page.entries} == kept, f"bookmarks of {viewer}"

    def readers(self) -> list[int]:
        return [id for id in self.model.people if id not in self.model.suspended]

    async def same(
        self, where: str, expected: list[int], viewer: int, read: ReadPage, *of: Any, **by: Any
    ) -> None:
        """The timeline, page by page downward and upward."""
        assert await self.walk(viewer, read, of, by, down=True) == expected, f"{where}, downward"
        assert await self.walk(viewer, read, of, by, down=False) == expected[::-1], f"{where}, upward"

    async def walk(
        self, viewer: int, read: ReadPage, of: tuple[Any, ...], by: dict[str, Any], *, down: bool
    ) -> list[int]:
        found: list[int] = []
        cut: dict[str, int] = {} if down else {"after": 0}
        while True:
            page = await read(*of, **by, **cut, limit=4)
            for entry in page.entries:
                self.holds(viewer, entry)
            ids = [entry.post.id for entry in page.entries]
            found += ids if down else ids[::-1]
            cursor = page.next_before if down else page.previous_after
            if cursor is None:
                return found
            cut = {"before": cursor} if down else {"after": cursor}

    def holds(self, viewer: int, entry: HydratedPost) -> None:
        """Counts, and what the reader did, are the model's."""
        shown, model = entry.shown.post.id, self.model
        counts = entry.counts.replies, entry.counts.boosts, entry.counts.likes
        assert counts == model.counts(shown), f"counts of {shown}"
        did = entry.viewer
        assert did is not None
        assert did.own == (model.posts[shown].author == viewer)
        assert did.liked == ((viewer, shown) in model.likes)
        assert did.boosted == ((viewer, shown) in model.boosts)
        assert did.bookmarked == ((viewer, shown) in model.bookmarks)


@pytest.mark.parametrize("config", [SMALL, PULLING], ids=["pushed", "pulled"])
def test_every_order_of_everything_leaves_what_the_model_says(
    deployment: Deployment, config: Configuration
) -> None:
    machine = type("Machine", (SiteMachine,), {"deployment": deployment, "config": config})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=max(1, STEPS // STEPS_EACH // 2),
            stateful_step_count=STEPS_EACH,
            deadline=None,
            derandomize="CI" in os.environ,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
