"""Who an imported post is by: the account of its author's name, or one of the imported graph by rank."""

from collections import Counter
from collections.abc import Iterable

from accounts.accounts.service import AccountService
from socialsite.ids import AccountId
from timelines.importing.lines import LineFile, Tally
from timelines.importing.repository import GraphRanks
from timelines.importing.rows import author_of


class NoGraph(Exception):
    """Posts shall be given to the accounts of a graph, but none was imported."""


class ImportAuthors:
    """Account ids by handle, looked up once a run; new accounts are made as they are met."""

    def __init__(self, accounts: AccountService, assigned: dict[str, AccountId] | None = None) -> None:
        self._accounts = accounts
        self._ids: dict[str, AccountId] = dict(assigned or {})

    async def ids(self, handles: Iterable[str], now_ms: int) -> dict[str, AccountId]:
        unknown = sorted({handle for handle in handles if handle not in self._ids})
        self._ids |= await self._accounts.import_accounts(handles=unknown, now_ms=now_ms)
        return self._ids


async def assigned_by_rank(file: LineFile, ranks: GraphRanks) -> dict[str, AccountId]:
    """Most posts to most followers, second to second ...; authors beyond the graph keep their own names.

    Reads the file once. Raises NoGraph.
    """
    posts = Counter(author for _, line in file.lines(Tally()) if (author := author_of(line)) is not None)
    authors = sorted(posts, key=lambda handle: (-posts[handle], handle))
    leaders = await ranks.most_followed(len(authors))
    if not leaders:
        raise NoGraph
    return dict(zip(authors, map(AccountId, leaders), strict=False))
