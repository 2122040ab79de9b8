"""Jobs of the outbox: what is owed for a published or deleted post, or a deleted account.

MessagePack, tagged by kind.
"""

from typing import Literal

import msgspec

from accounts.domain import AccountId
from socialsite.ids import PostId
from timelines.domain.post import Post

Phase = Literal["homes", "lists"]


class SyndicatePost(msgspec.Struct, frozen=True, tag="post"):
    """The intent of a publish: carries the whole post, so that a worker can finish what a crash cut off."""

    post: Post


class SyndicatePass(msgspec.Struct, frozen=True, tag="pass"):
    """The next pass of a post over the author's followers, then over the lists that hold the author.

    Cursor: the last edge delivered to, in `partition` (exclusive).
    """

    post_id: PostId
    author_id: AccountId
    phase: Phase
    partition: int
    at_ms: int
    id: int


class PurgeAccount(msgspec.Struct, frozen=True, tag="purge"):
    """Take away, round by round, what a deleted account leaves behind."""

    account_id: AccountId


class FadeBoosts(msgspec.Struct, frozen=True, tag="fade"):
    """Take along, round by round, the boosts of a deleted post that has too many for the request."""

    post_id: PostId


Job = SyndicatePost | SyndicatePass | PurgeAccount | FadeBoosts

encode_job = msgspec.msgpack.Encoder().encode
decode_job = msgspec.msgpack.Decoder(Job).decode
