"""The types of timeline pages: requests with cursors, and pages of entries. A cursor is an exclusive post id."""

from typing import Final, Literal, TypedDict

import msgspec
from msgspec import structs

from accounts.domain import Author
from socialsite.ids import MAX_ID, PostId
from timelines.posts.post import Post, PostCounts
from timelines.previews.preview import LinkPreview
from timelines.visibility.filter import KeywordFilter

DEFAULT_LIMIT = 30
MAX_LIMIT = 100
ABOVE_ALL_IDS = MAX_ID + 1
MIN_FETCH, MAX_FETCH = 10, 200
"""The minimum and maximum number of ids that one read for a page returns."""


class PostSelection(msgspec.Struct, frozen=True, gc=False):
    """The posts of a timeline that a client selects. The defaults select every post."""

    only_media: bool = False
    exclude_replies: bool = False
    """True to leave out replies to other accounts. Replies of an author to itself stay."""
    exclude_boosts: bool = False
    all_hashtags: tuple[str, ...] = ()
    no_hashtags: tuple[str, ...] = ()

    def includes(self, entry: "HydratedPost") -> bool:
        post, shown = entry.post, entry.shown.post
        if self.exclude_boosts and post.boost_of is not None:
            return False
        if self.exclude_replies and post.in_reply_to is not None and post.reply_to_author_id != post.author_id:
            return False
        if self.only_media and not shown.extra.media:
            return False
        if not (self.all_hashtags or self.no_hashtags):
            return True
        tags = set(shown.indexed_hashtags)
        return tags.issuperset(self.all_hashtags) and tags.isdisjoint(self.no_hashtags)


WITHOUT_REPLIES = PostSelection(exclude_replies=True)


class PagePart(TypedDict, total=False):
    """The keyword arguments of `PageRequest`."""

    before: int | None
    after: int | None
    limit: int
    may_lag: bool
    selection: PostSelection | None
    shows_parents: bool


class PageRequest(msgspec.Struct, frozen=True, gc=False):
    """A part of a timeline: `limit` entries directly older than `before` or directly newer than `after`.

    If `may_lag` is set, ids and counts may be one second old (docs/reference/topologies.md, "Read replicas"). If
    `shows_parents` is false, replies show no line of the post that they answer, and these posts are not read.
    """

    before: int | None = None
    after: int | None = None
    limit: int = DEFAULT_LIMIT
    may_lag: bool = False
    selection: PostSelection | None = None
    shows_parents: bool = True

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
        """The cursor for the opposite direction. A page at it begins with the post at the present cursor."""
        return min(self.bound + 1, MAX_ID) if self.upward else max(self.bound - 1, 0)

    @property
    def bound(self) -> int:
        """The exclusive id at which reading starts. Ids below it are read, or ids above it if `upward`."""
        if self.after is not None:
            return self.after
        return ABOVE_ALL_IDS if self.before is None else self.before


class ViewerState(msgspec.Struct, frozen=True, gc=False):
    """The relation of the viewer to a post: whether it is the viewer's own, and the viewer's reactions."""

    own: bool
    liked: bool = False
    boosted: bool = False
    bookmarked: bool = False
    pinned: bool = False
    """True if the post is pinned to the viewer's profile. Only a profile and a post's own page read this."""
    addressed: bool = False
    """True if the post answers the viewer. Notifications and a post's own page also mark mentions."""
    muted: bool = False
    """True if the viewer gets no notifications about the thread of the post."""


def mark_addressed(entry: "HydratedPost") -> "HydratedPost":
    """Return the entry, with the mark that it answers, mentions or quotes the viewer."""
    if entry.viewer is None or entry.viewer.own or entry.viewer.addressed:
        return entry
    return structs.replace(entry, viewer=structs.replace(entry.viewer, addressed=True))


class PollState(msgspec.Struct, frozen=True, gc=False):
    """The state of a poll for one viewer.

    `votes` has the number of votes of each option. It is None while the results are hidden from the viewer. `own` has
    the numbers of the options that the viewer chose.
    """

    voters: int
    votes: tuple[int, ...] | None
    own: tuple[int, ...] = ()
    is_over: bool = False
    may_vote: bool = False


QuoteState = Literal["accepted", "revoked", "deleted", "unauthorized", "blocked_account", "muted_account"]
STATES_WITH_POST: Final = frozenset[QuoteState]({"accepted", "blocked_account", "muted_account"})
"""The states with which API clients get the quoted post."""


class Quote(msgspec.Struct, frozen=True, gc=False):
    """A quoted post as the viewer of the quote sees it.

    `post` is None if its author revoked the quote, if it was deleted, or if the viewer may not see it ("unauthorized").
    The quoted post itself has no `quote`, so that quotes do not nest. If it quotes a post, `inner_state` is the state
    of that quote.
    """

    state: QuoteState
    post: "HydratedPost | None" = None
    inner_state: QuoteState | None = None

    @property
    def shown(self) -> "HydratedPost | None":
        """The quoted post, or None if pages show a sentence in its place."""
        is_hidden = self.state != "accepted" or self.post is None or self.post.keyword_filter is not None
        return None if is_hidden else self.post


class HydratedPost(msgspec.Struct, frozen=True, gc=False):
    """A post with everything that pages and JSON show.

    For a boost, `post` and `author` are the boost and the booster, and `counts` and `viewer` belong to `original`. If
    `keyword_filter` is set, it folds the post, and the text is shown after a click. `replied_author` is the author of
    the parent of a reply, or None if this account is hidden.
    """

    post: Post
    author: Author
    counts: PostCounts
    viewer: ViewerState | None
    original: "HydratedPost | None" = None
    keyword_filter: KeywordFilter | None = None
    replied_author: Author | None = None
    poll: PollState | None = None
    quote: Quote | None = None
    preview: LinkPreview | None = None
    matching_filters: tuple[KeywordFilter, ...] = ()
    """All filters of the viewer that match the post, also those of other places. Only API clients read them."""
    parent: Post | None = None
    """The post of another account that a reply answers, if a line of it is shown and the viewer may see it."""

    @property
    def id(self) -> PostId:
        return self.post.id

    @property
    def filter_phrase(self) -> str | None:
        """The phrase of the filter that folds the post, or the title of a filter of single posts."""
        return None if self.keyword_filter is None else self.keyword_filter.phrase or self.keyword_filter.title

    @property
    def shown(self) -> "HydratedPost":
        """The entry whose text is shown: the original of a boost, or this entry."""
        return self if self.original is None else self.original


class TimelinePage(msgspec.Struct, frozen=True):
    """A page of entries, newest first. A cursor is None if the timeline ends there."""

    entries: tuple[HydratedPost, ...]
    next_before: PostId | None
    previous_after: PostId | None


def fetch_size(request: PageRequest, entries: int = 0, round_number: int = 0) -> int:
    """Return how many ids to read next if the page has `entries`. The number doubles with each round."""
    return min(MAX_FETCH, max(MIN_FETCH, request.limit + 1 - entries) << round_number)


def build_page(request: PageRequest, entries: list[HydratedPost], *, bound: int, ended: bool) -> TimelinePage:
    """Return the page with its cursors. Set `ended` if the timeline has no entries beyond `entries`."""
    page_entries = entries[: request.limit]
    onward: PostId | None = None
    if len(entries) > request.limit:
        onward = page_entries[-1].post.id
    elif not ended:
        onward = PostId(bound)
    back: PostId | None = None
    if not request.is_first:
        back = page_entries[0].post.id if page_entries else PostId(request.reversed)
    if request.upward:
        return TimelinePage(tuple(reversed(page_entries)), next_before=back, previous_after=onward)
    return TimelinePage(tuple(page_entries), next_before=onward, previous_after=back)
