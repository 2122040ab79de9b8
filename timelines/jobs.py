"""Jobs of the outbox: what is owed for a published or deleted post, or a deleted account.

MessagePack, tagged by kind.
"""

from collections.abc import Callable
from typing import Literal, Self

import msgspec

from socialsite.ids import MAX_ID, AccountId, PostId
from timelines.posts.post import Post, decode_post, encode_post

FanOutPhase = Literal["homes", "lists"]


class SyndicatePost(msgspec.Struct, frozen=True, tag="post"):
    """The intent of a publish: carries the whole post, so that a worker can finish what a crash cut off.

    As it is to be stored, byte by byte: a worker of an older release writes fields that it does not know.
    """

    value: msgspec.Raw = msgspec.field(name="post")

    def __post_init__(self) -> None:
        """A post that this release cannot read is a job that it cannot: to decode it raises DecodeError."""
        require_post_id(self.post.id)

    @classmethod
    def from_post(cls, post: Post) -> Self:
        return cls(msgspec.Raw(encode_post(post)))

    @property
    def post(self) -> Post:
        return decode_post(bytes(self.value))


class SyndicatePass(msgspec.Struct, frozen=True, tag="pass"):
    """The next pass of a post over the author's followers, then over the lists that hold the author.

    Cursor: the last edge delivered to, in `partition` (exclusive).
    """

    post_id: PostId
    author_id: AccountId
    phase: FanOutPhase
    partition: int
    at_ms: int
    id: int

    def __post_init__(self) -> None:
        require_post_id(self.post_id)


class PurgeAccount(msgspec.Struct, frozen=True, tag="purge"):
    """Take away, round by round, what a deleted account leaves behind."""

    account_id: AccountId


class DeleteBoostsOfPost(msgspec.Struct, frozen=True, tag="fade"):
    """Take along, round by round, the boosts of a deleted post that has too many for the request."""

    post_id: PostId

    def __post_init__(self) -> None:
        require_post_id(self.post_id)


def require_post_id(post_id: int) -> None:
    """Raises ValueError for what no post was ever called: to decode such a job raises DecodeError."""
    if not 0 <= post_id <= MAX_ID:
        raise ValueError(f"{post_id} is no id of a post")


Job = SyndicatePost | SyndicatePass | PurgeAccount | DeleteBoostsOfPost

encode_job = msgspec.msgpack.Encoder().encode
_decode: Callable[[bytes], Job] = msgspec.msgpack.Decoder(Job).decode


def decode_job(payload: bytes) -> Job:
    """Raises DecodeError for whatever is no job."""
    try:
        return _decode(payload)
    except (UnicodeDecodeError, RecursionError) as error:  # a name of wrong bytes, an endless nest
        raise msgspec.DecodeError(str(error)) from error
