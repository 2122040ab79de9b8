"""Suspended and deleted accounts are left out of every page of accounts, and refused as targets."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from accounts.errors import AccountNotFound
from socialsite.ids import AccountId
from timelines.graph.follow import FollowCursor, FollowPage
from timelines.ports import Authors

MAX_ROUNDS = 20  # of reading on for a full page, should whole pages of followers be suspended

ReadPage = Callable[[FollowCursor | None, int], Awaitable[FollowPage]]


FindBlocked = Callable[[Sequence[AccountId]], Awaitable[set[AccountId]]]
"""Those of some accounts that a block keeps from the reader."""


async def load_visible_page(
    accounts: Authors,
    read: ReadPage,
    cursor: FollowCursor | None,
    limit: int,
    find_blocked: FindBlocked | None = None,
) -> FollowPage:
    """A page of visible accounts: reads on until it is full (for at most ROUNDS)."""
    found: list[AccountId] = []
    for _ in range(MAX_ROUNDS):
        page = await read(cursor, limit - len(found))
        hidden = await find_blocked(page.account_ids) if find_blocked is not None else set()
        found.extend(await visible_ids(accounts, [id for id in page.account_ids if id not in hidden]))
        cursor = page.next
        if cursor is None or len(found) >= limit:
            break
    return FollowPage(tuple(found), cursor)


async def page_of_ids(ids: Sequence[AccountId], cursor: FollowCursor | None, limit: int) -> FollowPage:
    """A page of accounts that follow from others, the newest accounts first."""
    below = sorted((id for id in ids if cursor is None or id < cursor.account_id), reverse=True)
    taken = below[:limit]
    return FollowPage(tuple(taken), FollowCursor(0, taken[-1]) if len(below) > limit else None)


async def visible_ids(accounts: Authors, ids: Iterable[AccountId]) -> list[AccountId]:
    """Those of `ids` that may be shown, in their order."""
    ids = list(ids)
    authors = await accounts.find_authors(ids)
    return [id for id in ids if id in authors and authors[id].is_visible]


async def require_visible(accounts: Authors, *ids: AccountId) -> None:
    """Raises AccountNotFound unless all of them are active."""
    if len(await visible_ids(accounts, ids)) < len(ids):
        raise AccountNotFound
