"""Who may see what, kept in plain sets: what the site's timelines must agree with."""

from collections import defaultdict
from dataclasses import dataclass, field

from accounts.domain import ACTIVE, SUSPENDED, AccountId, AccountState, Author
from socialsite.clock import FixedClock
from timelines.posts.post import Post
from timelines.visibility.filter import Filter, find_filter
from timelines.visibility.rights import UNFILTERED_CONTEXTS, ViewContext, ViewerRelations, may_see

Pairs = set[tuple[AccountId, AccountId]]


@dataclass(kw_only=True)
class RightsModel:
    """What was done; pairs are of who did it and whom it concerns."""

    clock: FixedClock
    posts: list[Post] = field(default_factory=list)
    boosts: list[Post] = field(default_factory=list)
    follows: Pairs = field(default_factory=set)
    requests: Pairs = field(default_factory=set)
    blocks: Pairs = field(default_factory=set)
    mutes: dict[tuple[AccountId, AccountId], int] = field(default_factory=dict)
    private: set[AccountId] = field(default_factory=set)
    suspended: set[AccountId] = field(default_factory=set)
    filters: dict[AccountId, list[Filter]] = field(default_factory=lambda: defaultdict(list))

    def is_block_between(self, one: AccountId, other: AccountId) -> bool:
        return bool({(one, other), (other, one)} & self.blocks)

    def state(self, viewer: AccountId) -> ViewerRelations:
        now_ms = self.clock.now_ms()
        return ViewerRelations(
            viewer,
            now_ms,
            blocks=frozenset(other for one, other in self.blocks if one == viewer),
            blocked_by=frozenset(one for one, other in self.blocks if other == viewer),
            muted=frozenset(other for (one, other), until in self.mutes.items() if one == viewer and until > now_ms),
            filters=tuple(self.filters[viewer]),
        )

    def author(self, account_id: AccountId) -> Author:
        state: AccountState = SUSPENDED if account_id in self.suspended else ACTIVE
        return Author(account_id, "", "", state, 1, account_id in self.private)

    def is_visible(self, post: Post, viewer: AccountId | None, place: ViewContext) -> bool:
        reader = None if viewer is None else self.state(viewer)
        follows = (viewer, post.author_id) in self.follows
        author = self.author(post.author_id)
        if not may_see(post, author, viewer=reader, follows=follows, context=place):
            return False
        if reader is None or viewer == post.author_id or place in UNFILTERED_CONTEXTS:
            return True
        found = find_filter(reader.filters, post.text, reader.now_ms)
        return found is None or found.action == "warn"
