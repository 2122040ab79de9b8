"""What the server says on the socket (docs/reference/interface.md), encoded once for everybody who gets it."""

import msgspec

from socialsite.ids import PostId
from socialsite.web.socket_writer import TextFrame
from timelines.posts.post import Counts

BAD_MESSAGE = "bad_message"
SIGNED_OUT = "signed_out"
FORBIDDEN = "forbidden"
RATE_LIMITED = "rate_limited"

_encode_json = msgspec.json.Encoder().encode


def _encode_frame(kind: str, **fields: object) -> TextFrame:
    return TextFrame(_encode_json({"type": kind, **fields}))


def encode_entry(timeline: str, post_id: PostId, author: str, html: str) -> TextFrame:
    return _encode_frame("entry", timeline=timeline, id=str(post_id), author=author, html=html)


def encode_deleted(post_id: PostId) -> TextFrame:
    return _encode_frame("deleted", id=str(post_id))


def encode_counts(post_id: PostId, numbers: Counts) -> TextFrame:
    shown = {"replies": numbers.replies, "boosts": numbers.boosts, "likes": numbers.likes}
    return _encode_frame("counts", id=str(post_id), counts=shown)


def encode_gap(timeline: str, after: PostId, newest: PostId) -> TextFrame:
    """More was missed than is replayed: the client pages from `after`."""
    return _encode_frame("gap", timeline=timeline, after=str(after), newest=str(newest))


def encode_subscribed(timeline: str, last: PostId) -> TextFrame:
    """From here on live; `last` is what to send as the next `after`."""
    return _encode_frame("subscribed", timeline=timeline, last=str(last))


_ERROR_FRAMES = {code: _encode_frame("error", code=code) for code in (BAD_MESSAGE, SIGNED_OUT, FORBIDDEN, RATE_LIMITED)}


def encode_error(code: str) -> TextFrame:
    return _ERROR_FRAMES[code]
