"""Reads pages of sorted sets of ids, in the order of their scores (Unix ms), strictly after a cursor.

Members with equal scores are in the byte order of their text, as in Redis. So no member is skipped or repeated, even if
thousands have the same time.
"""

from collections.abc import Sequence
from typing import NamedTuple

from socialsite.ids import AccountId
from socialsite.store import Command, Key, Read, Reply, load_script
from socialsite.store.read import CommandRunner
from timelines.graph.follow import FollowCursor, FollowPage

TIES_AFTER = load_script("ties_after.lua", __package__)


class ScoredId(NamedTuple):
    """A member of a sorted set and its score (Unix ms)."""

    at_ms: int
    id: int


def read_page(
    store: CommandRunner,
    keys: Sequence[Key],
    cursor: ScoredId | None,
    limit: int,
    *,
    upward: bool = False,
    above_ms: int | None = None,
) -> Read[list[ScoredId]]:
    """Read the `limit` members after `cursor` of the union of all the sorted sets.

    The newest come first, or the oldest if `upward` is true. Members with a score up to `above_ms` are left out, except
    if `upward` is true. See Redis in Action, section 10.3, listing 10.14.
    """
    end = "+inf" if upward else "-inf" if above_ms is None else f"({above_ms}"
    start = f"({cursor.at_ms}" if cursor else "-inf" if upward else "+inf"
    order = ("BYSCORE",) if upward else ("BYSCORE", "REV")
    commands: list[Command] = [("ZRANGE", key, start, end, *order, "LIMIT", 0, limit, "WITHSCORES") for key in keys]
    if cursor:
        beyond = ("up" if upward else "down", cursor.at_ms, str(cursor.id), limit)
        commands += [TIES_AFTER.command((key,), beyond) for key in keys]

    def parse(replies: Sequence[Reply]) -> list[ScoredId]:
        members = [
            ScoredId(int(score), int(member))
            for reply in replies[: len(keys)]
            for member, score in zip(reply[::2], reply[1::2], strict=True)
        ]
        if cursor:
            members += [ScoredId(cursor.at_ms, int(member)) for reply in replies[len(keys) :] for member in reply]
        members.sort(key=redis_order, reverse=not upward)
        return members[:limit]

    return Read(commands, parse, store)


def read_account_page(
    store: CommandRunner, keys: Sequence[Key], cursor: FollowCursor | None, limit: int, *, above_ms: int | None = None
) -> Read[FollowPage]:
    """Read a page of accounts, the highest score first. One more account is read to detect whether a page follows."""

    def to_page(members: list[ScoredId]) -> FollowPage:
        edges = tuple(FollowCursor(member.at_ms, AccountId(member.id)) for member in members[:limit])
        return FollowPage(edges, edges[-1] if len(members) > limit else None)

    edge = ScoredId(cursor.at_ms, cursor.account_id) if cursor else None
    return read_page(store, keys, edge, limit + 1, above_ms=above_ms).map(to_page)


def redis_order(member: ScoredId) -> tuple[int, str]:
    """Return the sort key that orders members as Redis does: by score, then by the bytes of the member."""
    return member.at_ms, str(member.id)


def read_scores(
    store: CommandRunner, keys: Sequence[Key], account_ids: Sequence[AccountId]
) -> Read[dict[AccountId, int]]:
    """Read the scores (Unix ms) of those accounts that are members of one of the sorted sets."""

    def parse(replies: Sequence[Reply]) -> dict[AccountId, int]:
        pairs = (pair for scores in replies for pair in zip(account_ids, scores, strict=True))
        return {id: int(float(score)) for id, score in pairs if score is not None}

    return Read([("ZMSCORE", key, *account_ids) for key in keys] if account_ids else [], parse, store)
