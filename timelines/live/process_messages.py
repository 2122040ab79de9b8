"""Messages between the processes of the site, about posts, relations and sessions.

A message is a MessagePack array that starts with its kind and schema number, so a process of another release
skips kinds that it does not know. New fields are appended, because older releases ignore extra fields. No
message contains a post: the receiver reads the post, which may have been deleted since.
"""

import msgspec

from socialsite.ids import AccountId, PostId
from timelines.ids import ListId


class EntryPublished(msgspec.Struct, frozen=True, array_like=True, tag="entry1"):
    """A post is on its author's profile and home, and on the public timeline if `public`. Sent to every process.

    `tags`: the normalized hashtags of the post.
    """

    post_id: PostId
    author_id: AccountId
    public: bool = True
    tags: tuple[str, ...] = ()


class EntryDelivered(msgspec.Struct, frozen=True, array_like=True, tag="delivered1"):
    """A post is on the homes of `followers` and the timelines of `lists`. Sent to the process that serves them."""

    post_id: PostId
    author_id: AccountId
    followers: tuple[AccountId, ...] = ()
    lists: tuple[ListId, ...] = ()


class EntryPulled(msgspec.Struct, frozen=True, array_like=True, tag="pulled1"):
    """A post is readable on the homes of all followers (fan-out on read). Sent to every process."""

    post_id: PostId
    author_id: AccountId


class PostDeleted(msgspec.Struct, frozen=True, array_like=True, tag="deleted1"):
    """A post was deleted. Sent to every process.

    For a boost: the boosted post and the booster, because another boost may be shown instead.
    """

    post_id: PostId
    boost_of: PostId | None = None
    author_id: AccountId | None = None


class CountsChanged(msgspec.Struct, frozen=True, array_like=True, tag="counts1"):
    """The counts of a post changed. Each process reads the new counts for its sockets that show the post."""

    post_id: PostId


class Notified(msgspec.Struct, frozen=True, array_like=True, tag="notified1"):
    """Accounts that are online in a process got a notification: pairs of account id and notification id."""

    told: tuple[tuple[AccountId, PostId], ...]


class SessionsEnded(msgspec.Struct, frozen=True, array_like=True, tag="ended1"):
    """One session of an account ended; without `session`, all of its sessions except `but`."""

    account_id: AccountId
    session: str | None = None
    but: str | None = None


class RelationChanged(msgspec.Struct, frozen=True, array_like=True, tag="relation1"):
    """A block, mute or the like between two accounts changed. Entries on their way to either are checked again."""

    account_id: AccountId
    other_id: AccountId


class ListsChanged(msgspec.Struct, frozen=True, array_like=True, tag="lists1"):
    """The rules of the owner's lists changed. Open list timelines are subscribed again."""

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
    """Decode a message. Returns None if this release does not know its kind or schema."""
    try:
        return _decoder.decode(payload)
    except msgspec.DecodeError:
        return None
