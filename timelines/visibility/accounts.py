"""Leaves out suspended and deleted accounts from pages, and rejects them as targets of actions."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol

from accounts.domain import Author
from accounts.errors import AccountNotFound
from socialsite.ids import AccountId
from timelines.graph.follow import FollowCursor, FollowPage

MAX_ROUNDS = 20  # maximum number of reads for one page, if most accounts are hidden

ReadPage = Callable[[FollowCursor | None, int], Awaitable[FollowPage]]
FindBlocked = Callable[[Sequence[AccountId]], Awaitable[set[AccountId]]]
"""A function that returns those of the given accounts that a block hides from the viewer."""


class Authors(Protocol):
    """Finds accounts, either all (`AccountService`) or only those that one viewer may see."""

    async def find_shown_authors(self, ids: Iterable[AccountId]) -> Mapping[AccountId, Author]: ...


async def load_visible_page(
    accounts: Authors, read: ReadPage, cursor: FollowCursor | None, limit: int, find_blocked: FindBlocked | None = None
) -> FollowPage:
    """Return a page of visible accounts. Reads until the page is full, at most MAX_ROUNDS times."""
    edges: list[FollowCursor] = []
    for _ in range(MAX_ROUNDS):
        page = await read(cursor, limit - len(edges))
        hidden = await find_blocked(page.account_ids) if find_blocked is not None else set()
        visible = set(await visible_ids(accounts, [id for id in page.account_ids if id not in hidden]))
        edges.extend(edge for edge in page.edges if edge.account_id in visible)
        cursor = page.next
        if cursor is None or len(edges) >= limit:
            break
    return FollowPage(tuple(edges), cursor)


async def page_of_ids(ids: Sequence[AccountId], cursor: FollowCursor | None, limit: int) -> FollowPage:
    """Return a page of the given accounts, the newest accounts first."""
    below = sorted((id for id in ids if cursor is None or id < cursor.account_id), reverse=True)
    edges = tuple(FollowCursor(0, id) for id in below[:limit])
    return FollowPage(edges, edges[-1] if len(below) > limit else None)


async def visible_ids(accounts: Authors, ids: Iterable[AccountId]) -> list[AccountId]:
    """Return the ids of active accounts, in the order of `ids`."""
    ids = list(ids)
    authors = await accounts.find_shown_authors(ids)
    return [id for id in ids if id in authors and authors[id].is_visible]


async def require_visible(accounts: Authors, *ids: AccountId) -> None:
    """Raise AccountNotFound if one of the accounts is not active."""
    if len(await visible_ids(accounts, ids)) < len(ids):
        raise AccountNotFound
