"""Fakes of the follow and list services' neighbours: an account directory and a timeline cache."""

from collections.abc import Awaitable, Callable, Iterable

from accounts.domain import ACTIVE, AccountState, Author
from socialsite.ids import AccountId


class FakeAccountDirectory:
    """A replacement of AccountService.authors: accounts 1..n, all active until a test changes their states."""

    def __init__(self, people: Iterable[int]) -> None:
        self.states: dict[AccountId, AccountState] = {AccountId(id): ACTIVE for id in people}
        self.asked = 0
        self.after_asking: Callable[[], Awaitable[None]] | None = None

    async def find_shown_authors(self, ids: Iterable[AccountId]) -> dict[AccountId, Author]:
        self.asked += 1
        authors = {id: self._author(id) for id in ids if id in self.states}
        if self.after_asking is not None:
            callback, self.after_asking = self.after_asking, None
            await callback()
        return authors

    find_authors = find_shown_authors

    def _author(self, id: AccountId) -> Author:
        return Author(id=id, handle=f"p{id}", display_name="", state=self.states[id], version=1)


class RecordingTimelineCache:
    """A timeline cache that records invalidations: `ids` are in the order of the calls."""

    def __init__(self) -> None:
        self.ids: list[int] = []

    async def invalidate(self, id: int) -> None:
        self.ids.append(id)


class SilentLiveUpdates:
    """Live updates without listeners."""

    async def lists_changed(self, owner_id: AccountId) -> None:
        return
