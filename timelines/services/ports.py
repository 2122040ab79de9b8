"""What the services of follows and lists ask of their neighbours, and no more."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from accounts.domain import AccountId, Author
from timelines.domain.account_list import ListId


class Authors(Protocol):
    """AccountService."""

    async def authors(self, ids: Iterable[AccountId]) -> Mapping[AccountId, Author]: ...


class Homes(Protocol):
    """The cached home timelines."""

    async def forget(self, account_id: AccountId) -> object: ...


class ListTimelines(Protocol):
    """The cached list timelines."""

    async def forget(self, list_id: ListId) -> object: ...


class PostMeter(Protocol):
    """The meter of this process (socialsite/statistics)."""

    def published(self, author_id: int) -> None:
        """Told by whoever wrote the post: the publishing process or the worker, so it counts once."""
        ...

    def delivered(self, entries: int, late_ms: int) -> None:
        """`entries` reached their timelines, `late_ms` after the post was published."""
        ...
