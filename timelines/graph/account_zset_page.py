"""A ZSET of accounts, id -> ms, in pages: the highest score first, ties by id, strictly behind a cursor."""

from socialsite.ids import AccountId
from socialsite.store import Command, Key
from socialsite.store.store import KeyShardedConnection
from timelines.graph.edge_list import TIES_AFTER, Neighbour, neighbours
from timelines.graph.follow import FollowCursor, FollowPage


async def read_account_page(
    place: KeyShardedConnection,
    key: Key,
    cursor: FollowCursor | None,
    limit: int,
    *,
    above: int | None = None,
) -> FollowPage:
    """One more is read, to know whether there is a next page. `above`: only scores beyond it."""
    bound = "+inf" if cursor is None else f"({cursor.at_ms}"
    lowest = "-inf" if above is None else f"({above}"
    commands: list[Command] = [("ZRANGE", key, bound, lowest, "BYSCORE", "REV", "LIMIT", 0, limit + 1, "WITHSCORES")]
    if cursor is not None:
        beyond = ("down", cursor.at_ms, str(cursor.account_id), limit + 1)
        commands.append(TIES_AFTER.command((key,), beyond))
    lower, *ties = await place.gather(commands)
    found = [Neighbour(cursor.at_ms, int(id)) for id in reversed(ties[0])] if cursor and ties else []
    found += neighbours(lower)
    taken = found[:limit]
    more = len(found) > limit
    behind = FollowCursor(taken[-1].at_ms, AccountId(taken[-1].id)) if more else None
    return FollowPage(tuple(AccountId(each.id) for each in taken), behind)
