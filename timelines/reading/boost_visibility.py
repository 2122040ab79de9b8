"""Boosts are shown once (DESIGN 2.8): a function of sources alone, so paging and lost caches change nothing.

A boost is hidden where its original, or one of the 50 boosts of it directly before, is at most 24 h older and
by somebody the reader follows and sees. When that boost is withdrawn, the next one takes over.
"""

from collections.abc import Iterable, Sequence

from socialsite.clock import DAY_MS
from socialsite.ids import AccountId, PostId, ms_from_id
from timelines.posts.post import Post
from timelines.reading.hydration_state import HydrationState, Sources
from timelines.visibility.boosters import read_earlier_boosters, read_later_boosts

EarlierBoosters = list[AccountId]
RemovedBoost = tuple[PostId, PostId]
"""A boost that is gone, and what it showed."""
LaterBoosts = list[tuple[AccountId, PostId]]
"""Who boosted the same after it, and by which boost, the first first."""


async def load_later_boosts(reach: Sources, removed: Iterable[RemovedBoost]) -> list[LaterBoosts]:
    """What each of some boosts may have hidden. The first that a reader sees hides the others now."""
    return await reach.store.read(*(read_later_boosts(original, boost) for boost, original in removed))


class BoostVisibility:
    """Which boosts of a page are the first that its reader meets; all of them until it is asked."""

    def __init__(self, found: HydrationState) -> None:
        self._found = found
        self._earlier: dict[PostId, EarlierBoosters] = {}

    async def load(self, boosts: Sequence[Post]) -> None:
        """Who boosted the same before, and whether the reader follows and sees them."""
        earlier = read_earlier_boosters([(post.shown_id, post.id) for post in boosts])
        (self._earlier,) = await self._found.reach.store.read(earlier)
        await self._found.load_accounts(id for ids in self._earlier.values() for id in ids)

    def set_earlier_boosters(self, boost: Post, earlier: EarlierBoosters) -> None:
        """Who boosted the same before: as `ask`, where that was asked for many readers at once."""
        self._earlier[boost.id] = earlier

    def is_shown(self, post: Post) -> bool:
        earlier = self._earlier.get(post.id)
        if post.boost_of is None or earlier is None:
            return True
        return not self._met_original(post) and not self._met(post, earlier)

    def _met_original(self, post: Post) -> bool:
        """The original stands in the reader's timeline by itself, not long before."""
        original = self._found.posts.get(post.shown_id)
        return (
            original is not None
            and ms_from_id(post.id) - ms_from_id(original.id) <= DAY_MS
            and self._found.visible_author(original) is not None
            and self._found.shows_reply(original)
        )

    def _met(self, post: Post, boosters: Iterable[AccountId]) -> bool:
        """One of them put the original into the reader's timeline before."""
        for account_id in boosters:
            by_them = Post(post.id, account_id, "", boost_of=post.boost_of)
            if self._found.visible_author(by_them) is not None:
                return True
        return False
