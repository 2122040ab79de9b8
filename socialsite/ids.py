"""Time-ordered post ids.

An id has 53 bits, so that a ZSET score and a number in JavaScript represent it exactly. The layout lasts until 2069:

    41 bits  milliseconds since 2000-01-01T00:00Z
    12 bits  a sequence number, which starts at a random number in each millisecond

Two processes that publish in the same millisecond get the same id with a probability of about 1 in 4,096. The
reservation of the id detects such a collision; then the next id is used.
"""

import re
import secrets
from typing import NewType, Protocol

AccountId = NewType("AccountId", int)
PostId = NewType("PostId", int)
ClientId = NewType("ClientId", str)
"""The id of an app that uses the API: 32 hex digits."""

EPOCH_MS = 946_684_800_000
SEQUENCE_BITS = 12
SEQUENCE_MASK = (1 << SEQUENCE_BITS) - 1
MAX_ID = (1 << 53) - 1
MAX_AHEAD_MS = 24 * 3600 * 1000
"""Maximum lead of the newest id over the clock. An id with a larger lead comes from a wrong clock and is ignored."""


class TimeSource(Protocol):
    def now_ms(self) -> int: ...


def id_at(at_ms: int, sequence: int = 0) -> PostId:
    """Return the id for a time in Unix milliseconds. Raises ValueError for times before the year 2000."""
    if at_ms < EPOCH_MS:
        raise ValueError("post ids begin at 2000-01-01")
    return PostId(((at_ms - EPOCH_MS) << SEQUENCE_BITS) | (sequence & SEQUENCE_MASK))


def ms_from_id(post_id: int) -> int:
    return (post_id >> SEQUENCE_BITS) + EPOCH_MS


class PostIdGenerator:
    """Generates ascending ids within one process."""

    def __init__(self, clock: TimeSource) -> None:
        self._clock = clock
        self.last_id = PostId(0)
        self._last_ms = 0
        self._sequence = 0
        self._remaining = 0

    def next_id(self) -> PostId:
        """Return a new id. If the sequence numbers of a millisecond are used up, the next millisecond is used."""
        now_ms = max(self._clock.now_ms(), self._last_ms)
        if now_ms > self._last_ms or self._remaining == 0:
            self._last_ms = now_ms if now_ms > self._last_ms else self._last_ms + 1
            # The start is in the lower half, so that at least 2,048 sequence numbers follow.
            self._sequence = secrets.randbelow(SEQUENCE_MASK // 2)
            self._remaining = SEQUENCE_MASK - self._sequence
        self._sequence += 1
        self._remaining -= 1
        self.last_id = id_at(self._last_ms, self._sequence)
        return self.last_id

    def continue_after(self, newest_id: int) -> None:
        """Make all new ids greater than `newest_id`, unless `newest_id` is more than a day ahead of the clock."""
        newest_ms = ms_from_id(newest_id)
        if self._last_ms <= newest_ms <= self._clock.now_ms() + MAX_AHEAD_MS and newest_id > self.last_id:
            self._last_ms, self._remaining = newest_ms, 0


_ID_PATTERN = re.compile(r"[0-9]{1,16}", re.ASCII)


def parse_id(text: str) -> int | None:
    """Parse an id from 0 to 2^53 - 1. Returns None if the text is not such a number."""
    if not _ID_PATTERN.fullmatch(text):
        return None
    number = int(text)
    return number if number <= MAX_ID else None
