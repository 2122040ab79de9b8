"""Rights: pure functions that decide which posts a viewer may see. Every read of posts calls them."""

from collections.abc import Callable, Collection
from enum import Enum, auto

import msgspec

from accounts.domain import Author
from socialsite.ids import AccountId, PostId
from socialsite.store import Read
from timelines.ids import ListId
from timelines.posts.post import FOLLOWERS, Post
from timelines.visibility.filter import KeywordFilter

NO_EXPIRY_MS = 4_000_000_000_000_000
"""The end of a mute without an end (Unix ms): below 2^52, so that Redis writes it without an exponent."""


class ViewContext(Enum):
    """The kind of page that shows a post. A post may be hidden in one context and shown in another."""

    HOME = auto()
    LIST = auto()
    PROFILE = auto()
    PUBLIC = auto()
    HASHTAG = auto()
    SEARCH = auto()
    THREAD = auto()
    POST = auto()
    NOTIFICATION = auto()
    BOOKMARKS = auto()

    __hash__ = object.__hash__  # Enum.__hash__ is Python code, and a page calls it a hundred times


DISCOVERY_CONTEXTS = frozenset({ViewContext.PUBLIC, ViewContext.HASHTAG, ViewContext.SEARCH})
"""Contexts that show posts of accounts that the viewer did not choose: public posts only."""
DELIBERATE_CONTEXTS = frozenset({ViewContext.PROFILE, ViewContext.POST, ViewContext.BOOKMARKS})
"""Contexts that a viewer opens on purpose: mutes and filters hide nothing."""
UNFILTERED_CONTEXTS = DELIBERATE_CONTEXTS | {ViewContext.NOTIFICATION}
"""Contexts without keyword filters: also notifications, since their posts address the viewer."""
FOLLOWED_CONTEXTS = frozenset({ViewContext.HOME, ViewContext.LIST})
"""Contexts that show each boosted post once."""


class ViewerRelations(msgspec.Struct, frozen=True):
    """The relations of a signed-in viewer to the posts and authors of one page: subsets of them."""

    viewer_id: AccountId
    now_ms: int
    liked: frozenset[PostId] = frozenset()
    boosted: frozenset[PostId] = frozenset()
    bookmarked: frozenset[PostId] = frozenset()
    blocks: frozenset[AccountId] = frozenset()
    blocked_by: frozenset[AccountId] = frozenset()
    muted: frozenset[AccountId] = frozenset()
    boosts_hidden: frozenset[AccountId] = frozenset()
    exclusive_list_ids: tuple[ListId, ...] = ()
    filters: tuple[KeywordFilter, ...] = ()

    def merged_with(self, other: "ViewerRelations") -> "ViewerRelations":
        """Return the union with the result of a later read. Lists and filters are those of the later read."""
        return ViewerRelations(
            self.viewer_id,
            other.now_ms,
            self.liked | other.liked,
            self.boosted | other.boosted,
            self.bookmarked | other.bookmarked,
            self.blocks | other.blocks,
            self.blocked_by | other.blocked_by,
            self.muted | other.muted,
            self.boosts_hidden | other.boosts_hidden,
            other.exclusive_list_ids,
            other.filters,
        )


def requires_follow(post: Post, author: Author) -> bool:
    """Whether only followers of the author may see the post."""
    return post.audience == FOLLOWERS or author.private


def is_reply_to_viewer(post: Post, author: Author, viewer_id: AccountId) -> bool:
    """Whether the post replies to the viewer. Replies of private accounts are for their followers only."""
    return post.reply_to_author_id == viewer_id and not author.private


def may_boost(post: Post, author: Author) -> bool:
    """Whether the post may be boosted: only if everybody may see it."""
    return not requires_follow(post, author)


def may_show_boost(boost: Post, author: Author, viewer: ViewerRelations | None, context: ViewContext) -> bool:
    """Whether a boost may show its original by `author`.

    Posts of muted accounts appear on no profile but their own, and the viewer's own boosts on the viewer's profile.
    """
    if viewer is None or context is not ViewContext.PROFILE or author.id not in viewer.muted:
        return True
    return boost.author_id in (author.id, viewer.viewer_id)


def sees_every_followed_post(viewer: ViewerRelations | None, context: ViewContext) -> bool:
    """Whether the viewer sees all posts by visible authors on the home timeline, boosts excepted.

    The result of `may_see` for all these posts at once. True for most viewers: without blocks, mutes and hidden
    boosts among the authors.
    """
    if context is not ViewContext.HOME or viewer is None:
        return False
    return not (viewer.blocks or viewer.blocked_by or viewer.muted or viewer.boosts_hidden)


def may_see(post: Post, author: Author, *, viewer: ViewerRelations | None, follows: bool, context: ViewContext) -> bool:
    """Whether a viewer (None: a visitor) may see a post of an author in a context.

    `follows`: whether the viewer follows the author; used only if `requires_follow`. For a boost this decides about
    the booster's side; another call decides about the original.
    """
    if not author.is_visible:
        return False
    if context in DISCOVERY_CONTEXTS and not (post.is_discoverable and not author.private):
        return False
    if viewer is None:
        return not requires_follow(post, author)
    if author.id == viewer.viewer_id:
        return True
    if author.id in viewer.blocks or author.id in viewer.blocked_by:
        return False
    if requires_follow(post, author) and not (follows or is_reply_to_viewer(post, author, viewer.viewer_id)):
        return False
    if context in DELIBERATE_CONTEXTS:
        return True
    if author.id in viewer.muted:
        return False
    return not (post.boost_of is not None and context in FOLLOWED_CONTEXTS and author.id in viewer.boosts_hidden)


AllowedAuthors = Callable[[Collection[AccountId]], Read[set[AccountId]]]
"""Returns a read of the authors, among those given, that a timeline may show."""


def allow_all(authors: Collection[AccountId]) -> Read[set[AccountId]]:
    """Allow all authors. Needs no commands."""
    return Read((), lambda _: set(authors))
