"""Merges author timelines into the nearest posts of many authors (Redis in Action, section 10.3, listing 10.14).

Each round reads a few ids of each timeline. A timeline is read again only if its next id may belong to the result. If
a viewer follows a thousand inactive accounts, each of their timelines is therefore read only once.
"""

from collections.abc import Sequence

from socialsite.ids import AccountId, PostId
from timelines.author_timelines.repository import AuthorTimelineRepository

MIN_BATCH = 3  # minimum number of ids of each timeline in one round
MAX_TIMELINES_PER_READ = 1_000  # limits the load that one viewer causes on a node


async def merge_nearest(
    timelines: AuthorTimelineRepository,
    author_ids: Sequence[AccountId],
    bound: int,
    limit: int,
    *,
    upward: bool = False,
) -> list[PostId]:
    """Return the post ids of the authors that are nearest to `bound`: at most `limit` ids, the nearest first."""
    if not author_ids or limit < 1:
        return []
    merged_ids: list[PostId] = []
    batch_size = min(limit, max(MIN_BATCH, 2 * limit // len(author_ids)))
    bounds: dict[AccountId, int] = dict.fromkeys(author_ids, bound)
    while bounds:
        for part in _split_reads(bounds, batch_size):
            results = await timelines.read_many(part, upward=upward)
            for (author_id, _, size), ids in zip(part, results, strict=True):
                merged_ids += ids
                if len(ids) < size:
                    del bounds[author_id]
                else:
                    bounds[author_id] = ids[-1]
        merged_ids.sort(reverse=not upward)
        del merged_ids[limit:]
        if len(merged_ids) == limit:
            bounds = _authors_within_reach(bounds, merged_ids[-1], upward=upward)
        batch_size = min(limit, batch_size * 4)
    return merged_ids


def _authors_within_reach(bounds: dict[AccountId, int], last_id: int, *, upward: bool) -> dict[AccountId, int]:
    """Return the authors whose next unread post may be nearer to the bound than `last_id`."""
    return {id: bound for id, bound in bounds.items() if (bound < last_id if upward else bound > last_id)}


def _split_reads(bounds: dict[AccountId, int], batch_size: int) -> list[list[tuple[AccountId, int, int]]]:
    reads = [(author_id, bound, batch_size) for author_id, bound in bounds.items()]
    return [reads[start : start + MAX_TIMELINES_PER_READ] for start in range(0, len(reads), MAX_TIMELINES_PER_READ)]
