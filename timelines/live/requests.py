"""What a client may say on the socket (docs/reference/interface.md). Anything else is a bad message."""

from typing import Annotated

import msgspec

from socialsite.ids import MAX_ID, PostId

MAX_MESSAGE_BYTES = 4096
MAX_WATCHED_POSTS = 100

ClientPostId = int | str


class Subscribe(msgspec.Struct, tag="subscribe", frozen=True):
    timeline: str
    after: ClientPostId | None = None


class Unsubscribe(msgspec.Struct, tag="unsubscribe", frozen=True):
    timeline: str


class Watch(msgspec.Struct, tag="watch", frozen=True):
    """The posts on screen, in place of those of the last watch; their counts are sent."""

    ids: Annotated[list[ClientPostId], msgspec.Meta(max_length=MAX_WATCHED_POSTS)]


ClientMessage = Subscribe | Unsubscribe | Watch

_decoder: msgspec.json.Decoder[ClientMessage] = msgspec.json.Decoder(ClientMessage)


class BadMessage(ValueError):
    """Too long, not JSON, or nothing a client may say."""


def parse_message(text: str | None) -> ClientMessage:
    """The request in a text message. Raises BadMessage (binary messages have no text)."""
    if text is None or len(text) > MAX_MESSAGE_BYTES:
        raise BadMessage
    try:
        encoded = text.encode()
        if len(encoded) > MAX_MESSAGE_BYTES:
            raise BadMessage
        return _decoder.decode(encoded)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        raise BadMessage from error


def parse_post_id(given: ClientPostId) -> PostId:
    """An id as string or number, as clients give it. Raises BadMessage."""
    if isinstance(given, str):
        if not (given.isascii() and given.isdigit() and len(given) <= 16):
            raise BadMessage
        given = int(given)
    if not 0 <= given <= MAX_ID:
        raise BadMessage
    return PostId(given)
