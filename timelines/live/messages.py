"""What processes tell each other about posts and sessions, and how it is written down.

MessagePack arrays, first the kind with its schema number: a process of another release skips kinds it does
not know. They carry no post: the listener has to look at it anyway, it may have been deleted since. The tags
are there so that it looks only where somebody listens.
"""

import msgspec

from accounts.domain import AccountId
from socialsite.ids import PostId
from timelines.ids import ListId


class EntryPublished(msgspec.Struct, frozen=True, array_like=True, tag="entry1"):
    """For the author's own home, the profile and, where `public`, the public timeline; to every process.

    `tags`: the hashtags whose timelines hold it, normalized. Last, so that older releases pass over them.
    """

    post_id: PostId
    author_id: AccountId
    public: bool = True
    tags: tuple[str, ...] = ()


class EntryDelivered(msgspec.Struct, frozen=True, array_like=True, tag="delivered1"):
    """For the homes of `followers` and the timelines of `lists`; to a process that has them online."""

    post_id: PostId
    author_id: AccountId
    followers: tuple[AccountId, ...] = ()
    lists: tuple[ListId, ...] = ()


class EntryPulled(msgspec.Struct, frozen=True, array_like=True, tag="pulled1"):
    """For the homes of the author's followers, to every process: the author has too many to name them."""

    post_id: PostId
    author_id: AccountId


class PostDeleted(msgspec.Struct, frozen=True, array_like=True, tag="deleted1"):
    """To every socket. Of a boost with what it showed and who boosted: another's may be shown instead.

    Last, so that older releases pass over them.
    """

    post_id: PostId
    boost_of: PostId | None = None
    author_id: AccountId | None = None


class CountsChanged(msgspec.Struct, frozen=True, array_like=True, tag="counts1"):
    """To the sockets that show the post; the counts are read where they are sent."""

    post_id: PostId


class Notified(msgspec.Struct, frozen=True, array_like=True, tag="notified1"):
    """Accounts online in a process were told of something: each with the id of its notification."""

    told: tuple[tuple[AccountId, PostId], ...]


class SessionsEnded(msgspec.Struct, frozen=True, array_like=True, tag="ended1"):
    """To the sockets of a session, or of the whole account (`session` None) but for session `but`."""

    account_id: AccountId
    session: str | None = None
    but: str | None = None


class RelationChanged(msgspec.Struct, frozen=True, array_like=True, tag="relation1"):
    """One of them keeps the other away, or no longer: what is being sent to either is looked at again."""

    account_id: AccountId
    other_id: AccountId


class ListsChanged(msgspec.Struct, frozen=True, array_like=True, tag="lists1"):
    """What belongs on lists of the owner is another: those that are open are opened anew."""

    owner_id: AccountId


LiveMessage = (
    EntryPublished
    | EntryDelivered
    | EntryPulled
    | PostDeleted
    | CountsChanged
    | Notified
    | SessionsEnded
    | RelationChanged
    | ListsChanged
)

encode_live = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[LiveMessage] = msgspec.msgpack.Decoder(LiveMessage)


def decode_live(payload: bytes) -> LiveMessage | None:
    """None for a message of a kind or schema this release does not know."""
    try:
        return _decoder.decode(payload)
    except msgspec.DecodeError:
        return None
