"""Reactions on a driven site: like, boost, bookmark, and their removal."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.support.site_machine import ITEM_INDEXES, PERSON_INDEXES
from tests.support.site_machine_pages import PageInvariants
from tests.support.site_model import ModelPost


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
