"""Messages between the processes of the site, about posts, relations and sessions.

A message is a MessagePack array that starts with its kind and schema number, so that a process of another release can
ignore kinds that it does not know. New fields are appended, because older releases ignore extra fields. No message
contains a post: the receiver reads the post, which may have been deleted meanwhile.
"""

import msgspec

from socialsite.ids import AccountId, PostId
from timelines.ids import ListId


class EntryPublished(msgspec.Struct, frozen=True, array_like=True, tag="entry1"):
    """A post is on its author's profile and home, and on the public timeline if `public` is true.

    Every process receives the message. `tags` are the normalized hashtags of the post.
    """

    post_id: PostId
    author_id: AccountId
    public: bool = True
    tags: tuple[str, ...] = ()


class EntryDelivered(msgspec.Struct, frozen=True, array_like=True, tag="delivered1"):
    """A post is on the homes of `followers` and the timelines of `lists`.

    Only the process with the sockets of these accounts receives the message.
    """

    post_id: PostId
    author_id: AccountId
    followers: tuple[AccountId, ...] = ()
    lists: tuple[ListId, ...] = ()


class EntryPulled(msgspec.Struct, frozen=True, array_like=True, tag="pulled1"):
    """A post is readable on the homes of all followers by fan-out on read. Every process receives the message."""

    post_id: PostId
    author_id: AccountId


class PostDeleted(msgspec.Struct, frozen=True, array_like=True, tag="deleted1"):
    """A post was deleted. Every process receives the message.

    If the post was a boost, the message has the boosted post and the booster, because another boost may be shown now.
    """

    post_id: PostId
    boost_of: PostId | None = None
    author_id: AccountId | None = None


class PostEdited(msgspec.Struct, frozen=True, array_like=True, tag="edited1"):
    """A post was edited. Each process reads the newest version for its sockets that show the post."""

    post_id: PostId


class CountsChanged(msgspec.Struct, frozen=True, array_like=True, tag="counts1"):
    """The counts of a post changed. Each process reads the new counts for its sockets that show the post."""

    post_id: PostId


class Notified(msgspec.Struct, frozen=True, array_like=True, tag="notified1"):
    """Accounts that are online in a process got a notification. `told` has (account id, notification id) pairs."""

    told: tuple[tuple[AccountId, PostId], ...]


class SessionsEnded(msgspec.Struct, frozen=True, array_like=True, tag="ended1"):
    """One session of an account ended, or, if `session` is None, all its sessions except `but`."""

    account_id: AccountId
    session: str | None = None
    but: str | None = None


class RelationChanged(msgspec.Struct, frozen=True, array_like=True, tag="relation1"):
    """A relation between two accounts changed, such as a block or a mute. Queued entries for both are checked again."""

    account_id: AccountId
    other_id: AccountId


class ListsChanged(msgspec.Struct, frozen=True, array_like=True, tag="lists1"):
    """The rules of the owner's lists changed. The owner's open list timelines are subscribed again."""

    owner_id: AccountId


class FiltersChanged(msgspec.Struct, frozen=True, array_like=True, tag="filters1"):
    """The keyword filters of an account changed. API clients of the account read them again."""

    account_id: AccountId


LiveMessage = (
    EntryPublished
    | EntryDelivered
    | EntryPulled
    | PostDeleted
    | PostEdited
    | CountsChanged
    | Notified
    | SessionsEnded
    | RelationChanged
    | ListsChanged
    | FiltersChanged
)

encode_live = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[LiveMessage] = msgspec.msgpack.Decoder(LiveMessage)


def decode_live(payload: bytes) -> LiveMessage | None:
    """Decode a message. Returns None if this release does not know its kind or schema."""
    try:
        return _decoder.decode(payload)
    except msgspec.DecodeError:
        return None
