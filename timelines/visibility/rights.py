"""Who may see what: one pure function, asked on every path, at every read (DESIGN 2.6)."""

from collections.abc import Callable, Collection
from enum import Enum, auto

import msgspec

from accounts.domain import AccountId, Author
from socialsite.ids import PostId
from socialsite.store import Read
from timelines.ids import ListId
from timelines.posts.post import FOLLOWERS, Post
from timelines.visibility.filter import Filter

FOREVER = 4_000_000_000_000_000
"""Until when a mute without an end holds (Unix ms): below 2^52, so servers write it without an exponent."""


class Place(Enum):
    """Where an entry is about to be shown; the same post may be hidden in one and shown in another."""

    HOME = auto()
    LIST = auto()
    PROFILE = auto()
    PUBLIC = auto()
    TAG = auto()
    SEARCH = auto()
    THREAD = auto()
    POST = auto()
    NOTIFICATION = auto()
    BOOKMARKS = auto()

    __hash__ = object.__hash__  # Enum's own is written in Python, and a page asks for it a hundred times


STRANGERS = frozenset({Place.PUBLIC, Place.TAG, Place.SEARCH})
"""Where readers meet posts of people they never chose: listed posts only."""
SOUGHT = frozenset({Place.PROFILE, Place.POST, Place.BOOKMARKS})
"""Where a reader goes on purpose: mutes and filters do not hide there."""
UNFILTERED = SOUGHT | {Place.NOTIFICATION}
"""Where keyword filters do not look: who says something to a reader is heard."""
FOLLOWED = frozenset({Place.HOME, Place.LIST})
"""Where boosts are shown once."""


class ReaderState(msgspec.Struct, frozen=True):
    """What a signed-in reader has to do with the posts and authors of one page."""

    viewer_id: AccountId
    now_ms: int
    liked: frozenset[PostId] = frozenset()
    boosted: frozenset[PostId] = frozenset()
    bookmarked: frozenset[PostId] = frozenset()
    blocks: frozenset[AccountId] = frozenset()
    blocked_by: frozenset[AccountId] = frozenset()
    muted: frozenset[AccountId] = frozenset()
    quieted: frozenset[AccountId] = frozenset()
    exclusive: tuple[ListId, ...] = ()
    filters: tuple[Filter, ...] = ()

    def joined(self, other: "ReaderState") -> "ReaderState":
        """With what a later question found; lists and filters are the newer ones."""
        return ReaderState(
            self.viewer_id,
            other.now_ms,
            self.liked | other.liked,
            self.boosted | other.boosted,
            self.bookmarked | other.bookmarked,
            self.blocks | other.blocks,
            self.blocked_by | other.blocked_by,
            self.muted | other.muted,
            self.quieted | other.quieted,
            other.exclusive,
            other.filters,
        )


def needs_follow(post: Post, author: Author) -> bool:
    """Whether only the author's followers may see the post."""
    return post.audience == FOLLOWERS or author.private


def is_answered(post: Post, author: Author, reader_id: AccountId) -> bool:
    """Whether the post is for the reader, whom it answers: only followers see those of a private account."""
    return post.reply_to_author == reader_id and not author.private


def may_boost(post: Post, author: Author) -> bool:
    """Whether others may carry the post to their followers: only what everybody may see."""
    return not needs_follow(post, author)


def may_carry(boost: Post, writer: Author, reader: ReaderState | None, place: Place) -> bool:
    """Whether a boost may show the writer's words: somebody muted is met on no profile but their own.

    What readers boosted themselves stands on their profile.
    """
    if reader is None or place is not Place.PROFILE or writer.id not in reader.muted:
        return True
    return boost.author_id in (writer.id, reader.viewer_id)


def sees_all_followed(reader: ReaderState | None, place: Place) -> bool:
    """Whether the reader sees all that visible authors whom they follow, or they themselves, wrote.

    What `may_see` says of each such post, boosts apart, said once for all of them: at home, of readers who
    block, mute and quiet nobody and whom nobody blocks, as most do.
    """
    if place is not Place.HOME or reader is None:
        return False
    return not (reader.blocks or reader.blocked_by or reader.muted or reader.quieted)


def may_see(post: Post, author: Author, *, reader: ReaderState | None, follows: bool, place: Place) -> bool:
    """Whether a reader (None: nobody signed in) may see a post of an author at a place.

    `follows`: whether the reader follows the author; looked at only where `needs_follow`. Of a boost this
    judges the booster's side; the original is judged by another call.
    """
    if not author.is_visible:
        return False
    if place in STRANGERS and not (post.is_listed and not author.private):
        return False
    if reader is None:
        return not needs_follow(post, author)
    if author.id == reader.viewer_id:
        return True
    if author.id in reader.blocks or author.id in reader.blocked_by:
        return False
    if needs_follow(post, author) and not (follows or is_answered(post, author, reader.viewer_id)):
        return False
    if place in SOUGHT:
        return True
    if author.id in reader.muted:
        return False
    return not (post.boost_of is not None and place in FOLLOWED and author.id in reader.quieted)


Rights = Callable[[Collection[AccountId]], Read[set[AccountId]]]
"""Which of some authors a timeline may show."""


def everybody(authors: Collection[AccountId]) -> Read[set[AccountId]]:
    """Rights of timelines that show any active author."""
    return Read((), lambda _: set(authors))
