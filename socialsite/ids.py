"""Time-ordered post ids.

Layout (53 bits, so an id is exact as a ZSET score and as a number in a browser; good until 2069):

    41 bits  milliseconds since 2000-01-01T00:00Z
    12 bits  counts up from a random start within each millisecond

The random start keeps two processes that publish in the same millisecond apart (a collision has odds of
about 1 in 4,096 and is found when the id is claimed, which then takes the next id).
"""

import re
import secrets
from typing import NewType, Protocol

AccountId = NewType("AccountId", int)
PostId = NewType("PostId", int)

EPOCH_MS = 946_684_800_000
SEQUENCE_BITS = 12
SEQUENCE_MASK = (1 << SEQUENCE_BITS) - 1
MAX_ID = (1 << 53) - 1


class TimeSource(Protocol):
    def now_ms(self) -> int: ...


def id_at(at_ms: int, sequence: int = 0) -> PostId:
    """The id of `at_ms` (Unix milliseconds, not before 2000) with the given low bits."""
    if at_ms < EPOCH_MS:
        raise ValueError("post ids begin at 2000-01-01")
    return PostId(((at_ms - EPOCH_MS) << SEQUENCE_BITS) | (sequence & SEQUENCE_MASK))


def ms_from_id(post_id: int) -> int:
    """Unix milliseconds at which the id was made."""
    return (post_id >> SEQUENCE_BITS) + EPOCH_MS


class PostIdGenerator:
    """Makes ids that never repeat and never go back within one process."""

    def __init__(self, clock: TimeSource) -> None:
        self._clock = clock
        self._last_ms = 0
        self._sequence = 0
        self._remaining = 0

    def next_id(self) -> PostId:
        """A fresh id; borrows from the next millisecond when one has given all its 4,096."""
        now_ms = max(self._clock.now_ms(), self._last_ms)
        if now_ms > self._last_ms or self._remaining == 0:
            self._last_ms = now_ms if now_ms > self._last_ms else self._last_ms + 1
            # Half of the range at most is skipped, so that there is room to count up in order.
            self._sequence = secrets.randbelow(SEQUENCE_MASK // 2)
            self._remaining = SEQUENCE_MASK - self._sequence
        self._sequence += 1
        self._remaining -= 1
        return id_at(self._last_ms, self._sequence)


_ID_PATTERN = re.compile(r"[0-9]{1,16}", re.ASCII)


def parse_id(text: str) -> int | None:
    """A number in 0..2^53-1 as clients write ids; None for anything else."""
    if not _ID_PATTERN.fullmatch(text):
        return None
    number = int(text)
    return number if number <= MAX_ID else None
