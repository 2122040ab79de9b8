"""Lists: a reader groups accounts and reads their posts apart from home. A list is its owner's secret."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial

from django.utils.translation import gettext as _

from accounts.domain import AccountId
from accounts.errors import AccountNotFound
from timelines.domain.account_list import (
    LISTS_PER_ACCOUNT,
    TITLE_MAX_GRAPHEMES,
    AccountList,
    ListId,
    ListPage,
    title_of,
)
from timelines.domain.follow import FollowCursor, FollowPage
from timelines.errors import ListNotFound, ListsCapReached, ListTitleInvalid, MembersCapReached
from timelines.repositories.lists import ListMembers, Lists
from timelines.services.ports import Authors, ListTimelines
from timelines.services.visible_accounts import require_visible, visible_page

MEMBERS_PER_ROUND = 500


class ListService:
    """`members_cap` and `lists_cap` may be passed by as many as there are concurrent requests."""

    def __init__(
        self,
        *,
        lists: Lists,
        members: ListMembers,
        accounts: Authors,
        timelines: ListTimelines,
        members_cap: int,
        lists_cap: int = LISTS_PER_ACCOUNT,
    ) -> None:
        self._lists = lists
        self._members = members
        self._accounts = accounts
        self._timelines = timelines
        self._members_cap = members_cap
        self._lists_cap = lists_cap

    async def create(self, *, owner_id: AccountId, title: str, now_ms: int) -> AccountList:
        title = _checked(title)
        if await self._lists.count(owner_id) >= self._lists_cap:
            raise ListsCapReached
        return await self._lists.add(owner_id, title, now_ms)

    async def rename(self, *, owner_id: AccountId, list_id: ListId, title: str) -> AccountList:
        title = _checked(title)
        if not await self._lists.rename(owner_id, list_id, title):
            raise ListNotFound
        return await self.get(owner_id=owner_id, list_id=list_id)

    async def delete(self, *, owner_id: AccountId, list_id: ListId) -> None:
        """Delete a list. A crash on the way leaves it marked, found by nobody; repeating it does the rest.

        Repeating it within a day is a success that changes nothing; later there is no such list.
        """
        marked = await self._lists.mark_deleted(owner_id, list_id)
        if not marked and not await self._lists.is_indexed(owner_id, list_id):
            raise ListNotFound
        await self._erase(owner_id, list_id)

    async def get(self, *, owner_id: AccountId, list_id: ListId) -> AccountList:
        """One's own list. Raises ListNotFound for those of others, as for none."""
        found = await self._lists.find(list_id)
        if found is None or found.owner_id != owner_id:
            raise ListNotFound
        return found

    async def owner_of(self, list_id: ListId) -> AccountId | None:
        """Whose list it is; None where there is none."""
        found = await self._lists.find(list_id)
        return found.owner_id if found else None

    async def lists(self, owner_id: AccountId, cursor: ListId | None = None, limit: int = 30) -> ListPage:
        """One's own lists, oldest first."""
        return await self._lists.owned(owner_id, cursor, limit)

    async def add_member(
        self, *, owner_id: AccountId, list_id: ListId, account_id: AccountId, now_ms: int
    ) -> bool:
        """Put an account on a list, whether followed or not. False: it was on it already."""
        await self.get(owner_id=owner_id, list_id=list_id)
        await require_visible(self._accounts, account_id)
        async with self._changing(list_id):
            if await self._members.count(list_id) >= self._members_cap:
                return await self._repeated(list_id, account_id)
            return await self._add(owner_id, list_id, account_id, now_ms)

    async def remove_member(self, *, owner_id: AccountId, list_id: ListId, account_id: AccountId) -> bool:
        """Take an account off a list. False: it was not on it."""
        await self.get(owner_id=owner_id, list_id=list_id)
        async with self._changing(list_id):
            return await self._members.remove(list_id, account_id)

    async def members(
        self, *, owner_id: AccountId, list_id: ListId, cursor: FollowCursor | None = None, limit: int = 30
    ) -> FollowPage:
        """Newest members first."""
        await self.get(owner_id=owner_id, list_id=list_id)
        return await visible_page(self._accounts, partial(self._members.members, list_id), cursor, limit)

    async def member_counts(self, lists: Iterable[AccountList]) -> dict[ListId, int]:
        """How many members each of one's lists has; suspended accounts count on."""
        return await self._members.counts([each.id for each in lists])

    async def _erase(self, owner_id: AccountId, list_id: ListId) -> None:
        while await self._members.remove_members(list_id, MEMBERS_PER_ROUND):
            pass
        await self._timelines.forget(list_id)
        await self._lists.erase(owner_id, list_id)

    async def _repeated(self, list_id: ListId, account_id: AccountId) -> bool:
        """At the cap, a member that is on the list is no error, but a new one is."""
        if not await self._members.has(list_id, account_id):
            raise MembersCapReached
        return False

    async def _add(self, owner_id: AccountId, list_id: ListId, account_id: AccountId, now_ms: int) -> bool:
        """Add the member, look again: what was deleted meanwhile may be swept of its edges already."""
        if not await self._members.add(list_id, account_id, now_ms):
            return False
        try:
            await self.get(owner_id=owner_id, list_id=list_id)
            await require_visible(self._accounts, account_id)
        except (ListNotFound, AccountNotFound):
            await self._members.remove(list_id, account_id)
            raise
        return True

    @asynccontextmanager
    async def _changing(self, list_id: ListId) -> AsyncIterator[None]:
        """Forget the list timeline before and after, also when nothing changed: the next read rebuilds it."""
        await self._timelines.forget(list_id)
        try:
            yield
        finally:
            await self._timelines.forget(list_id)


def _checked(title: str) -> str:
    """The title as it is stored. Raises ListTitleInvalid."""
    try:
        return title_of(title)
    except ValueError:
        message = _("A title is one line of 1 to %(most)d characters.") % {"most": TITLE_MAX_GRAPHEMES}
        raise ListTitleInvalid(message) from None
