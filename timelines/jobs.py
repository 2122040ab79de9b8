"""Jobs of the outbox: the work that remains after a post is published or deleted, or an account is deleted.

Jobs are MessagePack maps. Their tag is the kind of the job.
"""

from collections.abc import Callable
from typing import Literal, Self

import msgspec

from socialsite.ids import MAX_ID, AccountId, PostId
from timelines.posts.post import Post, decode_post, encode_post

FanOutPhase = Literal["homes", "lists"]


class SyndicatePost(msgspec.Struct, frozen=True, tag="post"):
    """Finish the publication of a post. The job contains the whole post, so that a worker can do so after a crash.

    The post is encoded as it will be stored, so that a worker of an older release also writes fields that it does not
    know.
    """

    value: msgspec.Raw = msgspec.field(name="post")

    def __post_init__(self) -> None:
        """Check the post, so that decoding the job raises DecodeError if this release cannot read the post."""
        require_post_id(self.post.id)

    @classmethod
    def from_post(cls, post: Post) -> Self:
        return cls(msgspec.Raw(encode_post(post)))

    @property
    def post(self) -> Post:
        return decode_post(bytes(self.value))


class EditPost(msgspec.Struct, frozen=True, tag="edit"):
    """Finish an edit. The job contains the version that was edited and the next one, so that a worker can do so.

    If another edit of the same version was stored first, the job changes nothing.
    """

    former: msgspec.Raw
    value: msgspec.Raw

    def __post_init__(self) -> None:
        require_post_id(self.post.id)

    @property
    def post(self) -> Post:
        return decode_post(bytes(self.value))


class SyndicatePass(msgspec.Struct, frozen=True, tag="pass"):
    """Deliver a post to the next followers of its author, or to the next lists with the author as a member.

    `partition`, `at_ms` and `id` identify the last follow or membership that the post was delivered to.
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
    """Delete the data of a deleted account, in rounds.

    If `is_deletion` is true, the job was stored before the deletion, so the account may have to be deleted first.
    """

    account_id: AccountId
    is_deletion: bool = False


class DeleteBoostsOfPost(msgspec.Struct, frozen=True, tag="fade"):
    """Delete the boosts of a deleted post in rounds. A post with few boosts needs no job."""

    post_id: PostId

    def __post_init__(self) -> None:
        require_post_id(self.post_id)


def require_post_id(post_id: int) -> None:
    """Raise ValueError if the number cannot be a post id. The decoder of the job then raises DecodeError."""
    if not 0 <= post_id <= MAX_ID:
        raise ValueError(f"{post_id} is no id of a post")


Job = SyndicatePost | EditPost | SyndicatePass | PurgeAccount | DeleteBoostsOfPost

encode_job = msgspec.msgpack.Encoder().encode
_decode: Callable[[bytes], Job] = msgspec.msgpack.Decoder(Job).decode


def decode_job(payload: bytes) -> Job:
    """Return the job of a payload. Raises DecodeError if the payload is not a job."""
    try:
        return _decode(payload)
    except (UnicodeDecodeError, RecursionError) as error:  # a name is invalid UTF-8, or the nesting is too deep
        raise msgspec.DecodeError(str(error)) from error
