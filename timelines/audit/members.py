"""Members of sorted sets, read in pages."""

from collections.abc import AsyncIterator, Sequence

from socialsite.store import Key
from timelines.audit.reader import MEMBERS_PER_READ, Looking, Scored


async def pages(look: Looking, key: Key) -> AsyncIterator[list[Scored]]:
    """All of a sorted set, a bounded number at once; what moves meanwhile may come twice or not at all."""
    start = 0
    while True:
        (reply,) = await look.gather([("ZRANGE", key, start, start + MEMBERS_PER_READ - 1, "WITHSCORES")])
        if reply:
            yield list(zip(reply[::2], reply[1::2], strict=True))
        if len(reply) < 2 * MEMBERS_PER_READ:
            return
        start += MEMBERS_PER_READ


async def first_pages(look: Looking, found: list[Key]) -> AsyncIterator[tuple[Key, list[Scored]]]:
    """As `pages`, of many sorted sets, most of them small: their first pages in one round trip."""
    last = MEMBERS_PER_READ - 1
    replies = await look.gather(("ZRANGE", key, 0, last, "WITHSCORES") for key in found)
    for key, reply in zip(found, replies, strict=True):
        if len(reply) < 2 * MEMBERS_PER_READ:
            yield key, list(zip(reply[::2], reply[1::2], strict=True))
            continue
        async for members in pages(look, key):
            yield key, members


def name_of(member: bytes) -> str:
    """For the detail of a finding."""
    return member.decode(errors="backslashreplace")[:40]


def was_pushed_out(member: int, size: int, oldest: Sequence[bytes], cap: int) -> bool:
    """Whether newer ones pushed it out of a capped timeline of `size` entries.

    Deletions make room there that nobody fills, so down to half its cap a timeline counts as once full.
    """
    return bool(oldest) and 2 * size >= cap and member < int(oldest[0])
