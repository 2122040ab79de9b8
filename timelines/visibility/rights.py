"""Who may see what: one pure function, asked on every path, at every read (DESIGN 2.6)."""

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
"""Until when a mute without an end holds (Unix ms): below 2^52, so servers write it without an exponent."""


class ViewContext(Enum):
    """Where an entry is about to be shown; the same post may be hidden in one and shown in another."""

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

    __hash__ = object.__hash__  # Enum's own is written in Python, and a page asks for it a hundred times


DISCOVERY_CONTEXTS = frozenset({ViewContext.PUBLIC, ViewContext.HASHTAG, ViewContext.SEARCH})
"""Where readers meet posts of people they never chose: listed posts only."""
DELIBERATE_CONTEXTS = frozenset({ViewContext.PROFILE, ViewContext.POST, ViewContext.BOOKMARKS})
"""Where a reader goes on purpose: mutes and filters do not hide there."""
UNFILTERED_CONTEXTS = DELIBERATE_CONTEXTS | {ViewContext.NOTIFICATION}
"""Where keyword filters do not look: who says something to a reader is heard."""
FOLLOWED_CONTEXTS = frozenset({ViewContext.HOME, ViewContext.LIST})
"""Where boosts are shown once."""


class ViewerRelations(msgspec.Struct, frozen=True):
    """What a signed-in reader has to do with the posts and authors of one page."""

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
        """With what a later question found; lists and filters are the newer ones."""
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
    """Whether only the author's followers may see the post."""
    return post.audience == FOLLOWERS or author.private


def is_reply_to_viewer(post: Post, author: Author, viewer_id: AccountId) -> bool:
    """Whether the post is for the reader, whom it answers: only followers see those of a private account."""
    return post.reply_to_author_id == viewer_id and not author.private


def may_boost(post: Post, author: Author) -> bool:
    """Whether others may carry the post to their followers: only what everybody may see."""
    return not requires_follow(post, author)


def may_show_boost(boost: Post, author: Author, viewer: ViewerRelations | None, context: ViewContext) -> bool:
    """Whether a boost may show the writer's words: somebody muted is met on no profile but their own.

    What readers boosted themselves stands on their profile.
    """
    if viewer is None or context is not ViewContext.PROFILE or author.id not in viewer.muted:
        return True
    return boost.author_id in (author.id, viewer.viewer_id)


def sees_every_followed_post(viewer: ViewerRelations | None, context: ViewContext) -> bool:
    """Whether the reader sees all that visible authors whom they follow, or they themselves, wrote.

    What `may_see` says of each such post, boosts apart, said once for all of them: at home, of readers who
    block, mute and quiet nobody and whom nobody blocks, as most do.
    """
    if context is not ViewContext.HOME or viewer is None:
        return False
    return not (viewer.blocks or viewer.blocked_by or viewer.muted or viewer.boosts_hidden)


def may_see(post: Post, author: Author, *, viewer: ViewerRelations | None, follows: bool, context: ViewContext) -> bool:
    """Whether a reader (None: nobody signed in) may see a post of an author at a place.

    `follows`: whether the reader follows the author; looked at only where `requires_follow`. Of a boost this
    judges the booster's side; the original is judged by another call.
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
"""Which of some authors a timeline may show."""


def allow_all(authors: Collection[AccountId]) -> Read[set[AccountId]]:
    """Rights of timelines that show any active author."""
    return Read((), lambda _: set(authors))
