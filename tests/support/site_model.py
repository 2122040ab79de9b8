"""A model of the whole site in plain dicts: it states what each reader must see, without the site's code.

Ids are numbers. Ids of posts contain their time (41 bits of ms since 2000, 12 bits below). Every action given to the
model was allowed; other tests cover refusals.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

DAY_MS = 86_400_000
EARLIER_BOOSTS = 50
PageKind = Literal["home", "list", "profile", "public", "post"]


def ms_of(post_id: int) -> int:
    return (post_id >> 12) + 946_684_800_000


@dataclass
class ModelPost:
    """A post, or a boost (`boost_of`)."""

    author: int
    audience: int = 0
    boost_of: int | None = None
    reply_to: int | None = None
    tagged: bool = False
    answered: int | None = None
    """Author of the parent post."""
    text: str = ""


@dataclass
class SiteModel:
    people: list[int] = field(default_factory=list)
    suspended: set[int] = field(default_factory=set)
    private: set[int] = field(default_factory=set)
    follows: set[tuple[int, int]] = field(default_factory=set)
    requests: set[tuple[int, int]] = field(default_factory=set)
    blocks: set[tuple[int, int]] = field(default_factory=set)
    mutes: dict[tuple[int, int], int] = field(default_factory=dict)
    quieted: set[tuple[int, int]] = field(default_factory=set)
    posts: dict[int, ModelPost] = field(default_factory=dict)
    likes: set[tuple[int, int]] = field(default_factory=set)
    boosts: dict[tuple[int, int], int] = field(default_factory=dict)
    bookmarks: set[tuple[int, int]] = field(default_factory=set)
    lists: dict[int, tuple[int, set[int]]] = field(default_factory=dict)
    now_ms: int = 0

    # Actions

    def block(self, one: int, other: int) -> None:
        self.blocks.add((one, other))
        for pair in ((one, other), (other, one)):
            self.follows.discard(pair)
            self.requests.discard(pair)

    def follow(self, one: int, other: int) -> None:
        """Follow an account; a private account gets a request."""
        if other in self.private and (one, other) not in self.follows:
            self.requests.add((one, other))
        else:
            self.follows.add((one, other))

    def delete(self, post_id: int) -> None:
        del self.posts[post_id]
        self.likes = {(who, what) for who, what in self.likes if what != post_id}
        self.boosts = {(who, what): boost for (who, what), boost in self.boosts.items() if what != post_id}

    def unboost(self, who: int, original: int) -> None:
        boost = self.boosts.pop((who, original), None)
        self.posts.pop(boost or 0, None)

    # Visibility

    def is_block_between(self, one: int, other: int) -> bool:
        return (one, other) in self.blocks or (other, one) in self.blocks

    def may_see(self, viewer: int, post_id: int, where: PageKind, *, boosted_by: int | None = None) -> bool:
        post = self.posts.get(post_id)
        if post is None or post.author in self.suspended:
            return False
        if where == "public" and (post.audience != 0 or post.boost_of or post.author in self.private):
            return False
        if post.author == viewer:
            return True
        if self.is_block_between(viewer, post.author):
            return False
        guarded = post.audience == 2 or post.author in self.private
        is_answered = post.answered == viewer and post.author not in self.private
        if guarded and not is_answered and (viewer, post.author) not in self.follows:
            return False
        if where in ("profile", "post"):
            return True
        if self.mutes.get((viewer, post.author), 0) > self.now_ms:
            return False
        boosts_hidden = post.boost_of is not None and (viewer, post.author) in self.quieted
        return not (boosts_hidden and where in ("home", "list"))

    def timeline(self, viewer: int, authors: Iterable[int], where: PageKind) -> list[int]:
        """Return the entries of these authors that the viewer sees there, newest first."""
        among = set(authors)
        return sorted(
            (id for id, post in self.posts.items() if post.author in among and self.is_shown(viewer, id, where, among)),
            reverse=True,
        )

    def is_shown(self, viewer: int, post_id: int, where: PageKind, among: set[int]) -> bool:
        if not self.may_see(viewer, post_id, where):
            return False
        original = self.posts[post_id].boost_of
        if original is None:
            return True
        if not self.may_see(viewer, original, where):
            return False
        writer, booster = self.posts[original].author, self.posts[post_id].author
        is_muted = self.mutes.get((viewer, writer), 0) > self.now_ms
        if where == "profile" and is_muted and booster not in (viewer, writer):
            return False
        return where not in ("home", "list") or not self.is_hidden_boost(viewer, post_id, where, among)

    def is_hidden_boost(self, viewer: int, boost: int, where: PageKind, among: set[int]) -> bool:
        """Return whether the post was shown at most a day before, by itself or boosted by these authors."""
        original = self.posts[boost].boost_of
        assert original is not None
        before = sorted((b for (_, what), b in self.boosts.items() if what == original and b < boost), reverse=True)
        return any(
            self.posts[each].author in among
            and ms_of(boost) - ms_of(each) <= DAY_MS
            and self.may_see(viewer, each, where)
            for each in [original, *before[:EARLIER_BOOSTS]]
        )

    def home(self, viewer: int) -> list[int]:
        followed = {other for one, other in self.follows if one == viewer}
        return self.timeline(viewer, followed | {viewer}, "home")

    def profile(self, viewer: int, account: int) -> list[int]:
        return self.timeline(viewer, {account}, "profile")

    def public(self, viewer: int) -> list[int]:
        return self.timeline(viewer, self.people, "public")

    def tag(self, viewer: int) -> list[int]:
        """Return the public posts with the hashtag."""
        return [id for id in self.public(viewer) if self.posts[id].tagged]

    def list_timeline(self, list_id: int) -> list[int]:
        owner, members = self.lists[list_id]
        return self.timeline(owner, members, "list")

    def counts(self, post_id: int) -> tuple[int, int, int]:
        """Return the numbers of replies, boosts and likes."""
        return (
            self._count(post.reply_to == post_id for post in self.posts.values()),
            self._count(what == post_id for _, what in self.boosts),
            self._count(what == post_id for _, what in self.likes),
        )

    @staticmethod
    def _count(those: Iterable[bool]) -> int:
        return sum(those)
