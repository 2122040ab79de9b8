"""Rights are pure functions that decide which posts a viewer may see. Every read of posts calls them."""

from collections.abc import Callable, Collection, Mapping
from enum import Enum, auto

import msgspec
from msgspec import structs

from accounts.domain import Author
from socialsite.ids import AccountId, PostId
from socialsite.store import Read
from timelines.ids import ListId
from timelines.posts.post import FOLLOWERS, Post
from timelines.visibility.filter import FilterPlace, KeywordFilter

NO_EXPIRY_MS = 4_000_000_000_000_000
"""The end of a permanent mute in Unix ms. It is below 2^52, so that Redis writes it without an exponent."""


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
"""Contexts that show posts of accounts that the viewer did not choose. They show only public posts."""
DELIBERATE_CONTEXTS = frozenset({ViewContext.PROFILE, ViewContext.POST, ViewContext.BOOKMARKS})
"""Contexts that a viewer opens on purpose. Mutes and keyword filters hide nothing there."""
FILTER_PLACE_BY_CONTEXT: Mapping[ViewContext, FilterPlace] = {
    ViewContext.HOME: "home",
    ViewContext.LIST: "home",
    ViewContext.PUBLIC: "public",
    ViewContext.HASHTAG: "public",
    ViewContext.SEARCH: "public",
    ViewContext.THREAD: "thread",
    ViewContext.NOTIFICATION: "notifications",
    ViewContext.PROFILE: "account",
}
"""The contexts with keyword filters. Only a filter that names notifications or profiles applies there."""
LANGUAGE_CONTEXTS = frozenset({ViewContext.PUBLIC, ViewContext.HASHTAG})
"""Contexts that show only posts in the languages that the viewer reads."""
PARENT_CONTEXTS = frozenset(
    {ViewContext.HOME, ViewContext.LIST, ViewContext.PROFILE, ViewContext.PUBLIC, ViewContext.HASHTAG}
)
"""Contexts that show one line of the post that a reply answers."""
FOLLOWED_CONTEXTS = frozenset({ViewContext.HOME, ViewContext.LIST})
"""Contexts that show each boosted post once."""


class ViewerRelations(msgspec.Struct, frozen=True):
    """The relations of a signed-in viewer to the posts and authors of one page.

    Each set contains only posts or authors of this page.
    """

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
    muted_threads: frozenset[PostId] = frozenset()
    """The first posts of all threads that the viewer muted."""

    @property
    def has_states(self) -> bool:
        """Return whether the viewer has reactions to posts of the page, or muted threads."""
        return bool(self.liked or self.boosted or self.bookmarked or self.muted_threads)

    def merged_with(self, other: "ViewerRelations") -> "ViewerRelations":
        """Return these relations together with a later read, from which lists, filters and muted threads are taken."""
        return structs.replace(
            other,
            liked=self.liked | other.liked,
            boosted=self.boosted | other.boosted,
            bookmarked=self.bookmarked | other.bookmarked,
            blocks=self.blocks | other.blocks,
            blocked_by=self.blocked_by | other.blocked_by,
            muted=self.muted | other.muted,
            boosts_hidden=self.boosts_hidden | other.boosts_hidden,
        )


def requires_follow(post: Post, author: Author) -> bool:
    """Return whether only followers of the author may see the post."""
    return post.audience == FOLLOWERS or author.followers_only


def is_reply_to_viewer(post: Post, author: Author, viewer_id: AccountId) -> bool:
    """Return whether the post is a reply to the viewer, by an account that is neither private nor limited."""
    return post.reply_to_author_id == viewer_id and not author.followers_only


def may_boost(post: Post, author: Author) -> bool:
    """Return whether the post may be boosted. Only posts that everybody may see may be boosted."""
    return not requires_follow(post, author)


def may_show_boost(boost: Post, author: Author, viewer: ViewerRelations | None, context: ViewContext) -> bool:
    """Return whether a boost may show its original by `author`.

    On profiles, originals of muted accounts are hidden. They are shown only on the profile of the muted account itself
    and on the viewer's own profile.
    """
    if viewer is None or context is not ViewContext.PROFILE or author.id not in viewer.muted:
        return True
    return boost.author_id in (author.id, viewer.viewer_id)


def sees_every_followed_post(viewer: ViewerRelations | None, context: ViewContext) -> bool:
    """Return whether the viewer sees all posts of visible authors on the home timeline. Boosts are not included.

    If this is true, `may_see` is true for all these posts. It is true for most viewers, who have no blocks, mutes or
    hidden boosts among the authors.
    """
    if context is not ViewContext.HOME or viewer is None:
        return False
    return not (viewer.blocks or viewer.blocked_by or viewer.muted or viewer.boosts_hidden)


def may_see(post: Post, author: Author, *, viewer: ViewerRelations | None, follows: bool, context: ViewContext) -> bool:
    """Return whether a viewer may see a post of an author in a context. `viewer` is None for a visitor.

    Set `follows` if the viewer follows the author. It is used only if `requires_follow` is true. For a boost, this
    function checks the boost and the booster, and a second call checks the original.
    """
    if not author.is_visible:
        return False
    if context in DISCOVERY_CONTEXTS and not (post.is_discoverable and not author.private):
        return False
    if context in DISCOVERY_CONTEXTS and author.limited and (viewer is None or author.id != viewer.viewer_id):
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
"""A function that reads which of the given authors a timeline may show."""


def allow_all(authors: Collection[AccountId]) -> Read[set[AccountId]]:
    """Allow all authors, without a command to the store."""
    return Read((), lambda _: set(authors))
