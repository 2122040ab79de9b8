"""The JSON messages of the websocket in both directions (docs/reference/interface.md).

A frame is encoded once, even if it is sent to many sockets.
"""

from typing import Annotated

import msgspec

from socialsite.ids import MAX_ID, PostId
from socialsite.web.socket_writer import TextFrame
from timelines.posts.post import PostCounts

MAX_MESSAGE_BYTES = 4096
MAX_WATCHED_POSTS = 100

BAD_MESSAGE = "bad_message"
SIGNED_OUT = "signed_out"
FORBIDDEN = "forbidden"
RATE_LIMITED = "rate_limited"

SIGNED_OUT_CLOSE_CODE = 4401
FLOOD_CLOSE_CODE = 4429
INTERNAL_ERROR_CLOSE_CODE = 4500
"""The close code after an internal error. The client connects again and reads the entries that it missed."""

# Messages of the client

ClientPostId = int | str


class Subscribe(msgspec.Struct, tag="subscribe", frozen=True):
    """The client wants new entries of `timeline`, and first the entries after the id `after`."""

    timeline: str
    after: ClientPostId | None = None


class Unsubscribe(msgspec.Struct, tag="unsubscribe", frozen=True):
    timeline: str


class Watch(msgspec.Struct, tag="watch", frozen=True):
    """The client wants new counts and versions of these posts. They replace the posts of the previous `watch`."""

    ids: Annotated[list[ClientPostId], msgspec.Meta(max_length=MAX_WATCHED_POSTS)]
    versions: Annotated[list[int], msgspec.Meta(max_length=MAX_WATCHED_POSTS)] | None = None
    """The versions of these posts that the client shows, in the same order. None if the client shows no edits."""


ClientMessage = Subscribe | Unsubscribe | Watch

_decoder: msgspec.json.Decoder[ClientMessage] = msgspec.json.Decoder(ClientMessage)


class BadMessage(ValueError):
    """The message is too long, is not JSON, or is not a `ClientMessage`."""


def parse_message(text: str | None) -> ClientMessage:
    """Parse a text message. Raises BadMessage, also for a binary message (None)."""
    if text is None or len(text) > MAX_MESSAGE_BYTES:
        raise BadMessage
    try:
        encoded = text.encode()
        if len(encoded) > MAX_MESSAGE_BYTES:
            raise BadMessage
        return _decoder.decode(encoded)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        raise BadMessage from error


def parse_post_id(value: ClientPostId) -> PostId:
    """Parse an id that the client sent as a string or a number. Raises BadMessage."""
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit() and len(value) <= 16):
            raise BadMessage
        value = int(value)
    if not 0 <= value <= MAX_ID:
        raise BadMessage
    return PostId(value)


# Messages of the server

_encode_json = msgspec.json.Encoder().encode


def _encode_frame(kind: str, **fields: object) -> TextFrame:
    return TextFrame(_encode_json({"type": kind, **fields}))


def encode_entry(timeline: str, post_id: PostId, author: str, html: str) -> TextFrame:
    return _encode_frame("entry", timeline=timeline, id=str(post_id), author=author, html=html)


def encode_deleted(post_id: PostId) -> TextFrame:
    return _encode_frame("deleted", id=str(post_id))


def encode_edited(post_id: PostId, author: str, html: str) -> TextFrame:
    """Encode the newest version of a post. It replaces the entries of older versions."""
    return _encode_frame("edited", id=str(post_id), author=author, html=html)


def encode_counts(post_id: PostId, counts: PostCounts) -> TextFrame:
    numbers = {"replies": counts.replies, "boosts": counts.boosts, "likes": counts.likes}
    return _encode_frame("counts", id=str(post_id), counts=numbers)


def encode_poll(post_id: PostId, html: str) -> TextFrame:
    """Encode the poll of a post as one reader sees it."""
    return _encode_frame("poll", id=str(post_id), html=html)


def encode_quote(post_id: PostId, html: str) -> TextFrame:
    """Encode the post that a post quotes, as one reader sees it."""
    return _encode_frame("quote", id=str(post_id), html=html)


def encode_gap(timeline: str, after: PostId, newest: PostId) -> TextFrame:
    """Encode a gap: more entries were missed than are replayed, so the client loads pages from `after`."""
    return _encode_frame("gap", timeline=timeline, after=str(after), newest=str(newest))


def encode_subscribed(timeline: str, last: PostId) -> TextFrame:
    """Encode the message that a subscription is live. The client sends `last` as its next `after`."""
    return _encode_frame("subscribed", timeline=timeline, last=str(last))


def encode_error(code: str, timeline: str | None = None) -> TextFrame:
    """Encode an error. If a subscription was refused, `timeline` is its timeline."""
    return _encode_frame("error", code=code, **({} if timeline is None else {"timeline": timeline}))
