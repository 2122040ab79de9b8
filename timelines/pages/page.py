"""Pages of timelines: cursors in, entries out. Cursors are post ids and exclusive by definition."""

import msgspec

from accounts.domain import Author
from socialsite.ids import MAX_ID, PostId
from timelines.posts.post import Post, PostCounts

DEFAULT_LIMIT = 30
MAX_LIMIT = 100
ABOVE_ALL_IDS = MAX_ID + 1
MIN_FETCH, MAX_FETCH = 10, 200
"""Ids read at once for a page, at least and at most."""


class PageRequest(msgspec.Struct, frozen=True, gc=False):
    """Part of a timeline: `limit` entries directly older than `before`, or directly newer than `after`."""

    before: int | None = None
    after: int | None = None
    limit: int = DEFAULT_LIMIT

    def __post_init__(self) -> None:
        if self.before is not None and self.after is not None:
            raise ValueError("a page has one cursor")

    @property
    def upward(self) -> bool:
        return self.after is not None

    @property
    def is_first(self) -> bool:
        return self.before is None and self.after is None

    @property
    def reversed(self) -> int:
        """The cursor the other way whose page begins with the post at this one: an empty page leads back."""
        return min(self.bound + 1, MAX_ID) if self.upward else max(self.bound - 1, 0)

    @property
    def bound(self) -> int:
        """Where reading begins, exclusive: downward below it, or upward above it."""
        if self.after is not None:
            return self.after
        return ABOVE_ALL_IDS if self.before is None else self.before


class ViewerState(msgspec.Struct, frozen=True, gc=False):
    """What the reader has to do with a post."""

    own: bool
    liked: bool = False
    boosted: bool = False
    bookmarked: bool = False


class HydratedPost(msgspec.Struct, frozen=True, gc=False):
    """A post with everything that a page or a JSON answer shows of it.

    Of a boost `post` and `author` are the boost and the booster, `original` is what it shows, `counts` and
    `viewer` are the original's. `filtered`: the phrase of a filter that asks the reader first.
    """

    post: Post
    author: Author
    counts: PostCounts
    viewer: ViewerState | None
    original: "HydratedPost | None" = None
    filter_phrase: str | None = None

    @property
    def id(self) -> PostId:
        return self.post.id

    @property
    def shown(self) -> "HydratedPost":
        """The entry whose text is shown: the original of a boost."""
        return self if self.original is None else self.original


class TimelinePage(msgspec.Struct, frozen=True):
    """Entries newest first; the cursors are None where the timeline ends."""

    entries: tuple[HydratedPost, ...]
    next_before: PostId | None
    previous_after: PostId | None


def fetch_size(request: PageRequest, entries: int = 0, round_number: int = 0) -> int:
    """How many ids are read for a page of which so many entries were found, after so many reads."""
    return min(MAX_FETCH, max(MIN_FETCH, request.limit + 1 - entries) << round_number)


def build_page(request: PageRequest, entries: list[HydratedPost], *, bound: int, ended: bool) -> TimelinePage:
    """Cursors of a page: outward where more was found or may be, backward where the reader came from."""
    more = len(entries) > request.limit
    shown = entries[: request.limit]
    outward: PostId | None = None
    if more:
        outward = shown[-1].post.id
    elif not ended:
        outward = PostId(bound)
    back: PostId | None = None
    if not request.is_first:
        back = shown[0].post.id if shown else PostId(request.reversed)
    if request.upward:
        return TimelinePage(tuple(reversed(shown)), next_before=back, previous_after=outward)
    return TimelinePage(tuple(shown), next_before=outward, previous_after=back)
