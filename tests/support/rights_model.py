"""An oracle of visibility that shares no code with the product: plain sets and one function.

The rules are those of docs/reference/security.md. A test compares every timeline of the site with this oracle.
"""

import re
from collections import defaultdict
from copy import copy
from dataclasses import dataclass, field
from typing import Literal

from socialsite.clock import FixedClock
from socialsite.ids import AccountId, PostId
from timelines.posts.post import Post
from timelines.visibility.filter import KeywordFilter

Pairs = set[tuple[AccountId, AccountId]]
Timeline = Literal["home", "list", "profile", "public", "tag"]
PUBLIC, UNLISTED, FOLLOWERS = range(3)


@dataclass(kw_only=True)
class RightsModel:
    """All relations as sets of pairs (acting account, target account)."""

    clock: FixedClock
    posts: list[Post] = field(default_factory=list)
    boosts: list[Post] = field(default_factory=list)
    follows: Pairs = field(default_factory=set)
    requests: Pairs = field(default_factory=set)
    blocks: Pairs = field(default_factory=set)
    mutes: dict[tuple[AccountId, AccountId], int] = field(default_factory=dict)
    private: set[AccountId] = field(default_factory=set)
    suspended: set[AccountId] = field(default_factory=set)
    limited: set[AccountId] = field(default_factory=set)
    pins: list[Post] = field(default_factory=list)
    """The pinned posts of all accounts, the first pinned first."""
    quotes: dict[PostId, Post] = field(default_factory=dict)
    """The quoted post by the id of the quote."""
    revoked: set[PostId] = field(default_factory=set)
    policies: dict[AccountId, str] = field(default_factory=dict)
    """Who may quote the posts of an account: "public" (also if absent), "followers" or "nobody"."""
    languages: dict[AccountId, tuple[str, ...]] = field(default_factory=dict)
    """The languages that a viewer reads on public timelines. None or an empty tuple are all."""
    votes: dict[tuple[AccountId, PostId], int] = field(default_factory=dict)
    """The choice of each voter in the present poll of a post."""
    filters: dict[AccountId, list[KeywordFilter]] = field(default_factory=lambda: defaultdict(list))

    def is_block_between(self, one: AccountId, other: AccountId) -> bool:
        return bool({(one, other), (other, one)} & self.blocks)

    def is_visible(self, post: Post, viewer: AccountId | None, timeline: Timeline) -> bool:
        """Return whether `viewer` (None: signed out) may see a post that is no boost and no reply."""
        author = post.author_id
        for_followers = post.audience == FOLLOWERS or author in self.private
        is_limited = author in self.limited and viewer != author
        if author in self.suspended:
            return False
        if timeline in ("public", "tag") and (for_followers or is_limited or post.audience == UNLISTED):
            return False
        if viewer is None:
            return not (for_followers or is_limited)
        if viewer == author:
            return True
        if self.is_block_between(viewer, author):
            return False
        chosen, language = self.languages.get(viewer), post.extra.language
        if timeline in ("public", "tag") and chosen and language and language not in chosen:
            return False
        if (for_followers or is_limited) and (viewer, author) not in self.follows:
            return False
        if timeline == "profile":
            return True
        return self.mutes.get((viewer, author), 0) <= self.clock.now_ms() and not self._filter_hides(viewer, post.text)

    def may_quote(self, post: Post, account: AccountId) -> bool:
        author = post.author_id
        if account == author:
            return author not in self.suspended
        if (
            post.audience == FOLLOWERS
            or author in self.private | self.limited
            or not self.is_visible(post, account, "profile")
        ):
            return False
        policy = self.policies.get(author, "public")
        return policy == "public" or (policy == "followers" and (account, author) in self.follows)

    def quote_state(self, quote: Post, viewer: AccountId | None, timeline: Timeline) -> str:
        """Return the state of the quoted post for a viewer who sees the quote."""
        quoted = self.quotes[quote.id]
        if quoted not in self.posts:
            return "deleted"
        if quote.id in self.revoked:
            return "revoked"
        without_block = copy(self)
        without_block.blocks = {pair for pair in self.blocks if pair != (viewer, quoted.author_id)}
        if not without_block.is_visible(quoted, viewer, "profile"):
            return "unauthorized"
        if viewer is None or viewer == quoted.author_id:
            return "accepted"
        if (viewer, quoted.author_id) in self.blocks:
            return "blocked_account"
        is_muted = self.mutes.get((viewer, quoted.author_id), 0) > self.clock.now_ms()
        return "muted_account" if is_muted and not _is_own_page(quote, quoted, timeline) else "accepted"

    def shows_quoted(self, quote: Post, viewer: AccountId | None, timeline: Timeline) -> bool:
        """Return whether a page shows the quoted post, which a filter of the viewer may hide."""
        quoted = self.quotes[quote.id]
        if viewer not in (None, quoted.author_id) and not _is_own_page(quote, quoted, timeline):
            words, now_ms = re.findall(r"\w+", quoted.text.lower()), self.clock.now_ms()
            active = [each for each in self.filters[viewer] if each.until_ms is None or each.until_ms > now_ms]
            if any(each.phrase.lower() in words for each in active):
                return False
        return self.quote_state(quote, viewer, timeline) == "accepted"

    def own_choices(self, post: Post, viewer: AccountId | None) -> tuple[int, ...] | None:
        """Return the choices that the viewer sees as its own, or None if the post has no poll."""
        if post.extra.poll is None:
            return None
        return (self.votes[viewer, post.id],) if viewer is not None and (viewer, post.id) in self.votes else ()

    def replace_post(self, former: Post, edited: Post) -> None:
        """Replace a post by its next version. The votes of a poll whose options changed or that is gone are lost."""
        old, new = former.extra.poll, edited.extra.poll
        if old is not None and (new is None or new.options != old.options):
            self.votes = {pair: choice for pair, choice in self.votes.items() if pair[1] != edited.id}
        for posts in (self.posts, self.pins):
            posts[:] = [edited if post.id == edited.id else post for post in posts]
        self.quotes = {id: edited if post.id == edited.id else post for id, post in self.quotes.items()}

    def _filter_hides(self, viewer: AccountId, text: str) -> bool:
        words = re.findall(r"\w+", text.lower())
        now_ms = self.clock.now_ms()
        active = [each for each in self.filters[viewer] if each.until_ms is None or each.until_ms > now_ms]
        return any(each.action == "hide" and each.phrase.lower() in words for each in active)


def _is_own_page(quote: Post, quoted: Post, timeline: Timeline) -> bool:
    return timeline == "profile" and quoted.author_id == quote.author_id
