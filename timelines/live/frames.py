"""What the server says on the socket (docs/interface.md), encoded once for everybody who gets it."""

import msgspec

from socialsite.ids import PostId
from socialsite.web.socket_writer import Frame
from timelines.posts.post import Counts

BAD_MESSAGE = "bad_message"
SIGNED_OUT = "signed_out"
FORBIDDEN = "forbidden"
RATE_LIMITED = "rate_limited"

_encode = msgspec.json.Encoder().encode


def _frame(kind: str, **fields: object) -> Frame:
    return Frame(_encode({"type": kind, **fields}))


def entry(timeline: str, post_id: PostId, author: str, html: str) -> Frame:
    return _frame("entry", timeline=timeline, id=str(post_id), author=author, html=html)


def deleted(post_id: PostId) -> Frame:
    return _frame("deleted", id=str(post_id))


def counts(post_id: PostId, numbers: Counts) -> Frame:
    shown = {"replies": numbers.replies, "boosts": numbers.boosts, "likes": numbers.likes}
    return _frame("counts", id=str(post_id), counts=shown)


def gap(timeline: str, after: PostId, newest: PostId) -> Frame:
    """More was missed than is replayed: the client pages from `after`."""
    return _frame("gap", timeline=timeline, after=str(after), newest=str(newest))


def subscribed(timeline: str, last: PostId) -> Frame:
    """From here on live; `last` is what to send as the next `after`."""
    return _frame("subscribed", timeline=timeline, last=str(last))


_ERRORS = {code: _frame("error", code=code) for code in (BAD_MESSAGE, SIGNED_OUT, FORBIDDEN, RATE_LIMITED)}


def error(code: str) -> Frame:
    return _ERRORS[code]
