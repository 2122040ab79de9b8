"""Scatter and gather over profiles: the nearest posts of many authors beyond an edge (seed listing 10.14).

Rounds of a few ids each: an author is asked again only while an answer of theirs may still come before the
last one wanted, so a reader who follows a thousand quiet accounts costs one small read of each.
"""

from collections.abc import Awaitable, Sequence
from typing import Protocol

from socialsite.ids import AccountId, PostId

MIN_BATCH = 3  # ids asked of one author in the first round
MAX_FEEDS_PER_READ = 1_000  # profiles in one round trip: bounds what one reader asks of a node at once


class AuthorFeeds(Protocol):
    def read_many(
        self, feeds: Sequence[tuple[AccountId, int, int]], *, upward: bool
    ) -> Awaitable[list[list[PostId]]]: ...


async def merge_nearest(
    profiles: AuthorFeeds, authors: Sequence[AccountId], edge: int, wanted: int, *, upward: bool = False
) -> list[PostId]:
    """Up to `wanted` ids of `authors` beyond `edge`, nearest first: newest downward, oldest upward."""
    if not authors or wanted < 1:
        return []
    found: list[PostId] = []
    batch = min(wanted, max(MIN_BATCH, 2 * wanted // len(authors)))
    frontier: dict[AccountId, int] = dict.fromkeys(authors, edge)
    while frontier:
        for part in _split_reads(frontier, batch):
            answers = await profiles.read_many(part, upward=upward)
            for (author, _, asked), ids in zip(part, answers, strict=True):
                found += ids
                if len(ids) < asked:
                    del frontier[author]
                else:
                    frontier[author] = ids[-1]
        found.sort(reverse=not upward)
        del found[wanted:]
        if len(found) == wanted:
            frontier = _authors_within_reach(frontier, found[-1], upward=upward)
        batch = min(wanted, batch * 4)
    return found


def _authors_within_reach(frontier: dict[AccountId, int], last: int, *, upward: bool) -> dict[AccountId, int]:
    """Authors whose next id may still come before the last one found."""
    return {author: at for author, at in frontier.items() if (at < last if upward else at > last)}


def _split_reads(frontier: dict[AccountId, int], batch: int) -> list[list[tuple[AccountId, int, int]]]:
    asks = [(author, at, batch) for author, at in frontier.items()]
    return [asks[start : start + MAX_FEEDS_PER_READ] for start in range(0, len(asks), MAX_FEEDS_PER_READ)]
