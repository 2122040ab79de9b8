"""Actions, reactions and faults of a driven site, each applied to the services and to the model."""

import re
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from itertools import chain
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from socialsite.ids import AccountId, PostId
from socialsite.store import Key
from socialsite.store.key_families import CACHE, FAMILIES
from tests.support.site_machine import ITEM_INDEXES, MOST_PEOPLE, PERSON_INDEXES
from tests.support.site_machine_pages import ADOPTING_WORKER, TAG, WORD, PageInvariants
from tests.support.site_model import ModelPost
from timelines import keys
from timelines.ids import ListId
from timelines.posts.post import Post, PostDetails
from timelines.publishing.forms import EditForm
from timelines.visibility.rights import NO_EXPIRY_MS


class ReactionActions(PageInvariants):
    """React to posts that the account sees on their own pages."""

    @rule(who=PERSON_INDEXES, which=ITEM_INDEXES, on=st.booleans())
    def like(self, who: int, which: int, on: bool) -> None:
        account = self.active(who)
        if (post_id := self.visible(account, which)) is None:
            return
        reactions, now_ms = self.services.reactions, self.clock.now_ms()
        if on:
            entry = self.run_coroutine(reactions.like(account_id=account, post_id=post_id, now_ms=now_ms))
        else:
            entry = self.run_coroutine(reactions.unlike(account_id=account, post_id=post_id))
        change = self.model.likes.add if on else self.model.likes.discard
        change((account, post_id))
        self.assert_entry_matches(account, entry)

    @rule(who=PERSON_INDEXES, which=ITEM_INDEXES)
    def boost(self, who: int, which: int) -> None:
        account = self.active(who)
        if (post_id := self.visible(account, which, boostable=True)) is None:
            return
        act = self.services.reactions.boost
        entry = self.run_coroutine(act(account_id=account, post_id=post_id, now_ms=self.clock.now_ms()))
        if (account, post_id) not in self.model.boosts:
            page = self.run_coroutine(self.services.reading.profile(account, viewer_id=account, limit=1))
            boost_id = page.entries[0].post.id
            self.model.boosts[account, post_id] = boost_id
            self.model.posts[boost_id] = ModelPost(account, page.entries[0].post.audience, post_id)
            self.owed = True
        self.assert_entry_matches(account, entry)

    @rule(who=PERSON_INDEXES, which=ITEM_INDEXES)
    def unboost(self, who: int, which: int) -> None:
        account = self.active(who)
        if (post_id := self.visible(account, which)) is None:
            return
        entry = self.run_coroutine(self.services.reactions.unboost(account_id=account, post_id=post_id))
        self.model.unboost(account, post_id)
        self.changed = True
        self.assert_entry_matches(account, entry)

    @rule(who=PERSON_INDEXES, which=ITEM_INDEXES, on=st.booleans())
    def bookmark(self, who: int, which: int, on: bool) -> None:
        account = self.active(who)
        if (post_id := self.visible(account, which)) is None:
            return
        reactions = self.services.reactions
        if on:
            self.run_coroutine(reactions.bookmark(account_id=account, post_id=post_id, now_ms=self.clock.now_ms()))
        else:
            self.run_coroutine(reactions.unbookmark(account_id=account, post_id=post_id))
        change = self.model.bookmarks.add if on else self.model.bookmarks.discard
        change((account, post_id))


AUDIENCES = st.sampled_from([0, 0, 0, 1, 2])

PostDrafts = list[tuple[int, int, bool]]

POST_DRAFTS = st.lists(st.tuples(PERSON_INDEXES, AUDIENCES, st.booleans()), min_size=1, max_size=8)

"""Posts as (author, audience, with the hashtag or not)."""

PAUSES_MS = st.sampled_from([0, 1, 900, 5_000, 3_600_000, 90_000_000])


class PeopleActions(PageInvariants):
    """Sign up, post, reply, edit, delete, follow, answer requests, block, mute, hide boosts, list, suspend."""

    @rule(pause=PAUSES_MS)
    def time_passes(self, pause: int) -> None:
        self.clock.advance(pause)
        self.model.now_ms = self.clock.now_ms()

    @precondition(lambda self: len(self.model.people) < MOST_PEOPLE)
    @rule()
    def sign_up(self) -> None:
        newcomer = self.run_coroutine(self.world.person(f"p{len(self.model.people)}"))
        self.model.people.append(int(newcomer.id))

    @rule(
        who=PERSON_INDEXES,
        audience=AUDIENCES,
        which=ITEM_INDEXES,
        tagged=st.booleans(),
        dies=st.sampled_from([None, None, *range(1, 40)]),
    )
    def answer(self, who: int, audience: int, which: int, tagged: bool, dies: int | None) -> None:
        """Publish a reply. With `dies` the web process is killed meanwhile, and the browser sends the form again."""
        author = self.active(who)
        parent = self.visible(author, which)
        key = None if dies is None else f"form {self.tally['posts cut off']}"
        publish = self._publish(author, audience, tagged, parent, key)
        if dies is not None:
            self.tally["posts cut off"] += 1
            self.run_coroutine(self.run_interrupted(publish(), dies))
        self._assert_stored(self.run_coroutine(publish()), tagged)

    @rule(said=POST_DRAFTS)
    def post(self, said: PostDrafts) -> None:
        """Publish one post after another; homes and lists have room for six."""
        for who, audience, tagged in said:
            self._assert_stored(self.run_coroutine(self._publish(self.active(who), audience, tagged)()), tagged)

    def _publish(
        self, author: AccountId, audience: int, tagged: bool, parent: PostId | None = None, key: str | None = None
    ) -> Callable[[], Coroutine[Any, Any, Post]]:
        return partial(
            self.services.publishing.publish,
            author_id=author,
            text=f"{WORD} #{TAG}" if tagged else WORD,
            in_reply_to=parent,
            audience=audience,
            idempotency_key=key,
            now_ms=self.clock.now_ms(),
        )

    def _assert_stored(self, made: Post, tagged: bool) -> None:
        self.model.posts[made.id] = ModelPost(
            made.author_id, made.audience, None, made.in_reply_to, tagged, made.reply_to_author_id, made.text
        )
        self.tally["posts"] += 1
        self.owed = True

    @rule(
        which=ITEM_INDEXES,
        tagged=st.booleans(),
        number=st.integers(1, 5),
        dies=st.sampled_from([None, None, *range(1, 40)]),
    )
    def edit(self, which: int, tagged: bool, number: int, dies: int | None) -> None:
        """Edit a post. With `dies` the web process is killed meanwhile, and the browser sends the form again."""
        own = sorted(id for id, post in self.model.posts.items() if self._may_edit(id, post))
        if not own:
            return
        post_id = PostId(own[which % len(own)])
        post = self.model.posts[post_id]
        text = f"{WORD} of edit{number}" + f" #{TAG}" * tagged
        edit = partial(
            self.services.edits.edit,
            EditForm(text, PostDetails()),
            account_id=AccountId(post.author),
            post_id=post_id,
            now_ms=self.clock.now_ms(),
        )
        if dies is not None:
            self.tally["edits cut off"] += 1
            self.run_coroutine(self.run_interrupted(edit(), dies))
        self.run_coroutine(edit())
        post.text, post.tagged = text, tagged
        self.tally["edits"] += 1
        self.edited = self.owed = True

    def _may_edit(self, post_id: int, post: ModelPost) -> bool:
        """Return whether the author may edit the post: an author who may not see the parent any more may not."""
        if post.boost_of or post.author in self.model.suspended:
            return False
        parent = post.reply_to
        return parent not in self.model.posts or self.model.may_see(post.author, parent, "post")

    @rule(which=ITEM_INDEXES)
    def delete(self, which: int) -> None:
        own = sorted(id for id, post in self.model.posts.items() if not post.boost_of)
        if not own:
            return
        post_id = PostId(own[which % len(own)])
        author = AccountId(self.model.posts[post_id].author)
        self.run_coroutine(self.services.publishing.delete(account_id=author, post_id=post_id))
        self.model.delete(post_id)
        self.changed = self.owed = True

    @rule(who=PERSON_INDEXES, other=PERSON_INDEXES)
    def follow(self, who: int, other: int) -> None:
        if pair := self.pick_two(who, other):
            one, another = pair
            work = self.services.following.follow(follower_id=one, followed_id=another, now_ms=self.clock.now_ms())
            self.run_coroutine(work)
            self.model.follow(one, another)

    @rule(which=ITEM_INDEXES, let_in=st.booleans())
    def answer_a_request(self, which: int, let_in: bool) -> None:
        open_requests = sorted(
            (one, other) for one, other in self.model.requests if not {one, other} & self.model.suspended
        )
        if not open_requests:
            return
        one, other = open_requests[which % len(open_requests)]
        ids = {"account_id": AccountId(other), "requester_id": AccountId(one)}
        if let_in:
            self.run_coroutine(self.services.follow_requests.accept(**ids, now_ms=self.clock.now_ms()))
            self.model.follows.add((one, other))
        else:
            self.run_coroutine(self.services.follow_requests.refuse(**ids))
        self.model.requests.discard((one, other))

    @rule(who=PERSON_INDEXES, other=PERSON_INDEXES)
    def unfollow(self, who: int, other: int) -> None:
        one, another = self.active(who), self.active(other)
        self.run_coroutine(self.services.following.unfollow(follower_id=one, followed_id=another))
        self.model.follows.discard((one, another))
        self.model.requests.discard((one, another))
        self.changed = True

    @rule(who=PERSON_INDEXES, other=PERSON_INDEXES, on=st.booleans())
    def block(self, who: int, other: int, on: bool) -> None:
        one, another = self.active(who), self.active(other)
        if one == another:
            return
        if on:
            work = self.services.blocks_and_mutes.block(account_id=one, other_id=another, now_ms=self.clock.now_ms())
            self.run_coroutine(work)
            self.model.block(one, another)
            self.changed = True
        else:
            self.run_coroutine(self.services.blocks_and_mutes.unblock(account_id=one, other_id=another))
            self.model.blocks.discard((one, another))

    @rule(who=PERSON_INDEXES, other=PERSON_INDEXES, hours=st.sampled_from([None, 1, 0]))
    def mute(self, who: int, other: int, hours: int | None) -> None:
        """Mute forever (None), for an hour (1), or unmute (0)."""
        one, another = self.active(who), self.active(other)
        if one == another:
            return
        now_ms = self.clock.now_ms()
        if hours == 0:
            self.run_coroutine(self.services.blocks_and_mutes.unmute(account_id=one, other_id=another))
            self.model.mutes.pop((one, another), None)
            return
        until_ms = None if hours is None else now_ms + hours * 3_600_000
        work = self.services.blocks_and_mutes.mute(account_id=one, other_id=another, now_ms=now_ms, until_ms=until_ms)
        self.run_coroutine(work)
        self.model.mutes[one, another] = NO_EXPIRY_MS if until_ms is None else until_ms
        self.changed = True

    @rule(who=PERSON_INDEXES, other=PERSON_INDEXES, on=st.booleans())
    def quiet(self, who: int, other: int, on: bool) -> None:
        one, another = self.active(who), self.active(other)
        if one == another:
            return
        relations = self.services.blocks_and_mutes
        if on:
            self.run_coroutine(relations.hide_boosts(account_id=one, other_id=another, now_ms=self.clock.now_ms()))
            self.model.quieted.add((one, another))
        else:
            self.run_coroutine(relations.show_boosts(account_id=one, other_id=another))
            self.model.quieted.discard((one, another))

    @rule(who=PERSON_INDEXES, other=PERSON_INDEXES, on=st.booleans())
    def list_member(self, who: int, other: int, on: bool) -> None:
        """Add to or remove from the only list of `who`, which is created first."""
        owner, member = self.active(who), self.active(other)
        lists, now_ms = self.services.lists, self.clock.now_ms()
        list_id = next((id for id, (of, _) in self.model.lists.items() if of == owner), None)
        if list_id is None:
            list_id = self.run_coroutine(lists.create(owner_id=owner, title="mine", now_ms=now_ms)).id
            self.model.lists[list_id] = (owner, set())
        of = ListId(list_id)
        members = self.model.lists[list_id][1]
        if on and not self.model.is_block_between(owner, member):
            self.run_coroutine(lists.add_member(owner_id=owner, list_id=of, account_id=member, now_ms=now_ms))
            members.add(member)
        elif not on:
            self.run_coroutine(lists.remove_member(owner_id=owner, list_id=of, account_id=member))
            members.discard(member)
            self.changed = True

    @precondition(lambda self: len(self.model.suspended) < len(self.model.people) - 1)
    @rule(who=PERSON_INDEXES)
    def suspend(self, who: int) -> None:
        account = self.active(who)
        self.run_coroutine(self.services.accounts.suspend(account_id=account))
        self.model.suspended.add(account)
        self.changed = True

    @precondition(lambda self: self.model.suspended)
    @rule(which=ITEM_INDEXES)
    def reinstate(self, which: int) -> None:
        suspended = sorted(self.model.suspended)
        account = AccountId(suspended[which % len(suspended)])
        self.run_coroutine(self.services.accounts.reinstate(account_id=account))
        self.model.suspended.discard(account)

    @rule(who=PERSON_INDEXES, on=st.booleans())
    def be_private(self, who: int, on: bool) -> None:
        account = self.active(who)
        edit = self.services.accounts.edit_profile
        self.run_coroutine(edit(account_id=account, display_name=f"p{account}", bio="", link="", private=on))
        (self.model.private.add if on else self.model.private.discard)(account)
        self.changed = True


SHARED_CACHE_PATTERNS = [
    re.sub("<[a-z]+>", "*", family.pattern)
    for family in FAMILIES.values()
    if family.role is CACHE and not family.is_cached_timeline
]
"""Caches that are rebuilt only by `rebuild_timelines --all` or by the worker, not by reads."""


def own_caches(owner: int, lists: Sequence[int]) -> list[Key]:
    """Return the keys of caches that the owner's next read rebuilds."""
    return [keys.home_timeline(owner), *map(keys.list_timeline, lists)]


class FaultActions(PeopleActions):
    @precondition(lambda self: self.owed)
    @rule(jobs=st.integers(1, 6), times=st.integers(1, 2), finishes=st.booleans())
    def work(self, jobs: int, times: int, finishes: bool) -> None:
        """Perform some jobs, perhaps twice. They may stay in the outbox, as after a lost reply."""
        self.run_coroutine(self._work(jobs, times, finishes))

    async def _work(self, jobs: int, times: int, finishes: bool) -> None:
        outbox = self.services.outbox
        for job in await outbox.fetch(ADOPTING_WORKER, jobs, 1):
            following: tuple[bytes, ...] = ()
            for _ in range(times):
                following = await self.services.fan_out.handle(job.payload)
            self.tally["passes"] += len(following)
            if finishes:
                await outbox.finish(job, following)
            else:
                await outbox.finish(job, (job.payload,))

    @precondition(lambda self: self.owed)
    @rule(after=st.integers(0, 60), jobs=st.integers(1, 2))
    def worker_dies(self, after: int, jobs: int) -> None:
        """Kill a worker during a job: the job stays pending for the dead worker until another adopts it."""
        self.run_coroutine(self._worker_dies(after, jobs))

    async def _worker_dies(self, after: int, jobs: int) -> None:
        self.dead_workers += 1
        jobs_taken = await self.services.outbox.fetch(f"dead{self.dead_workers:04x}", jobs, 1)
        if jobs_taken:
            self.tally["jobs cut off"] += 1
            await self.run_interrupted(self.services.fan_out.handle(jobs_taken[0].payload), after)

    @rule(said=POST_DRAFTS, after=st.integers(0, 60), dying=st.integers(1, 3))
    def post_while_workers_die(self, said: PostDrafts, after: int, dying: int) -> None:
        """Publish posts, while several workers die during their jobs."""
        self.post(said)
        for _ in range(dying):
            self.run_coroutine(self._worker_dies(after, 1))

    @precondition(lambda self: self.dead_workers)
    @rule()
    def adopt_dead_workers_jobs(self) -> None:
        self.run_coroutine(self.adopt())

    @rule(who=PERSON_INDEXES)
    def drop_own_caches(self, who: int) -> None:
        self.tally["caches lost"] += 1
        owner = self.model.people[who % len(self.model.people)]
        lists = [id for id, (of, _) in self.model.lists.items() if of == owner]
        self.run_coroutine(self.store.execute_all([("DEL", key) for key in own_caches(owner, lists)]))

    @rule()
    def drop_shared_caches(self) -> None:
        """Delete the public, hashtag and search caches and previews, then rebuild what the command rebuilds."""
        for master in self.deployment.masters():
            with master:
                for key in chain.from_iterable(map(master.scan_iter, SHARED_CACHE_PATTERNS)):
                    master.delete(key)
        self.tally["caches lost"] += 1
        self.run_coroutine(self._rebuild())

    async def _rebuild(self) -> None:
        people = [AccountId(id) for id in self.model.people]
        await self.services.rebuilds.rebuild_public(people)
        await self.services.rebuilds.rebuild_tags(people)
        await self.services.rebuilds.rebuild_search(people)
