"""Invariants of a driven site: the pages of every reader, at each step and after each calm."""

from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis.stateful import invariant, rule

from socialsite.ids import AccountId
from tests.support.site_machine import SiteMachine
from timelines.ids import ListId
from timelines.pages.page import HydratedPost, TimelinePage
from timelines.search.query import parse_query

WORD, TAG = "words", "tea"
"""The text of every post, and the hashtag of some."""
ADOPTING_WORKER = "abad1dea"
"""The worker of `World.deliver_all`, which also adopts the jobs of dead workers."""
ReadPage = Callable[..., Awaitable[TimelinePage]]


class PageInvariants(SiteMachine):
    """Every page of every reader matches the model entry by entry: home, lists, profiles, public, hashtag, search."""

    def teardown(self) -> None:
        try:
            self.settle()
        finally:
            self.run_coroutine(self.store.close())
            self.runner.close()

    @invariant()
    def nothing_hidden_is_seen(self) -> None:
        """Check that hidden posts disappear immediately, before the worker has finished."""
        self.tally["steps"] += 1
        if not self.changed:
            return
        self.changed = False
        for viewer in self.readers():
            allowed = {*self.model.home(viewer)}
            page = self.run_coroutine(self.services.reading.home(AccountId(viewer), limit=10))
            assert {entry.post.id for entry in page.entries} <= allowed, f"a ghost in the home of {viewer}"

    @invariant()
    def an_edit_is_on_every_page_of_every_process(self) -> None:
        """Check, directly after an edit, the pages of all readers in two processes that cache posts."""
        if not self.edited:
            return
        self.edited = False
        self.run_coroutine(self._check_texts())

    async def _check_texts(self) -> None:
        for reading in (self.services.reading, self.other_process.reading):
            for viewer in map(AccountId, self.readers()):
                pages = [await reading.home(viewer, limit=10), await reading.tag(TAG, viewer_id=viewer, limit=10)]
                assert {entry.post.id for entry in pages[1].entries} <= {*self.model.tag(viewer)}
                for entry in (entry for page in pages for entry in page.entries):
                    shown = entry.shown.post
                    assert shown.text == self.model.posts[shown.id].text, f"an old version of {shown.id}"

    @rule()
    def settle(self) -> None:
        self.run_coroutine(self._settle())
        self.tally["calms"] += 1
        self.owed = False

    async def _settle(self) -> None:
        await self.adopt()
        await self.world.deliver_all()
        reading, model = self.services.reading, self.model
        for viewer in self.readers():
            me = AccountId(viewer)
            await self.assert_same_pages(f"home of {viewer}", model.home(viewer), viewer, reading.home, me)
            await self._what_strangers_wrote(viewer)
            for account in model.people:
                expected = model.profile(viewer, account)
                where = f"profile of {account} for {viewer}"
                await self.assert_same_pages(where, expected, viewer, reading.profile, AccountId(account), viewer_id=me)
        for list_id, (owner, _) in model.lists.items():
            if owner not in model.suspended:
                expected, read = model.list_timeline(list_id), self.services.lists.read_timeline
                where = f"list of {owner}"
                await self.assert_same_pages(where, expected, owner, read, ListId(list_id), viewer_id=AccountId(owner))
        await self._bookmarks()

    async def adopt(self) -> None:
        """Adopt and perform the jobs of dead workers."""
        outbox = self.services.outbox
        while jobs := await outbox.reclaim(ADOPTING_WORKER):
            for job in jobs:
                self.tally["jobs adopted"] += 1
                await outbox.finish(job, await self.services.fan_out.handle(job.payload))

    async def _what_strangers_wrote(self, viewer: int) -> None:
        reading, me, model = self.services.reading, AccountId(viewer), self.model
        await self.assert_same_pages(f"public for {viewer}", model.public(viewer), viewer, reading.public, viewer_id=me)
        await self.assert_same_pages(f"#{TAG} for {viewer}", model.tag(viewer), viewer, reading.tag, TAG, viewer_id=me)
        seek = self.services.search.search_posts
        for words, expected in ((WORD, model.public(viewer)), (f"#{TAG}", model.tag(viewer))):
            ids = await self.walk(viewer, seek, (parse_query(words),), {"viewer_id": me}, down=True)
            assert ids == expected, f"search of {viewer} for {words}"

    async def _bookmarks(self) -> None:
        model = self.model
        for viewer in self.readers():
            bookmarked_ids = {id for who, id in model.bookmarks if who == viewer and model.may_see(viewer, id, "post")}
            page = await self.services.reactions.bookmarks(AccountId(viewer), limit=100)
            assert {entry.post.id for entry in page.entries} == bookmarked_ids, f"bookmarks of {viewer}"

    def readers(self) -> list[int]:
        return [id for id in self.model.people if id not in self.model.suspended]

    async def assert_same_pages(
        self, where: str, expected: list[int], viewer: int, read: ReadPage, *of: Any, **by: Any
    ) -> None:
        """Compare the timeline with the model, page by page downward and upward."""
        assert await self.walk(viewer, read, of, by, down=True) == expected, f"{where}, downward"
        assert await self.walk(viewer, read, of, by, down=False) == expected[::-1], f"{where}, upward"

    async def walk(
        self, viewer: int, read: ReadPage, of: tuple[Any, ...], by: dict[str, Any], *, down: bool
    ) -> list[int]:
        post_ids: list[int] = []
        cut: dict[str, int] = {} if down else {"after": 0}
        while True:
            page = await read(*of, **by, **cut, limit=4)
            for entry in page.entries:
                self.assert_entry_matches(viewer, entry)
            ids = [entry.post.id for entry in page.entries]
            post_ids += ids if down else ids[::-1]
            cursor = page.next_before if down else page.previous_after
            if cursor is None:
                return post_ids
            cut = {"before": cursor} if down else {"after": cursor}

    def assert_entry_matches(self, viewer: int, entry: HydratedPost) -> None:
        """Check that the counts and the reader's own reactions match the model."""
        shown_id, model = entry.shown.post.id, self.model
        counts = entry.counts.replies, entry.counts.boosts, entry.counts.likes
        assert counts == model.counts(shown_id), f"counts of {shown_id}"
        assert entry.shown.post.text == model.posts[shown_id].text, f"text of {shown_id}"
        did = entry.viewer
        assert did is not None
        assert did.own == (model.posts[shown_id].author == viewer)
        assert did.liked == ((viewer, shown_id) in model.likes)
        assert did.boosted == ((viewer, shown_id) in model.boosts)
        assert did.bookmarked == ((viewer, shown_id) in model.bookmarks)
