"""Lists: a reader groups accounts and reads their posts apart from home. A list is its owner's secret."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from accounts.errors import AccountNotFound
from socialsite.ids import AccountId
from timelines.errors import ListMembersCapReached, ListNotFound, ListsCapReached
from timelines.graph.follow import FollowCursor, FollowPage
from timelines.ids import ListId
from timelines.lists.account_list import LISTS_PER_ACCOUNT, AccountList, ListPage
from timelines.lists.checks import (
    require_own_members,
    require_virtual,
    validate_exclusive,
    validate_replies,
    validate_title,
    with_parts,
)
from timelines.lists.repository import ListMembers, Lists
from timelines.lists.rules import ListRule, ListRules
from timelines.ports import Authors, TimelineCache
from timelines.visibility.accounts import ReadPage, load_visible_page, page_of_ids, require_visible

MEMBERS_PER_ROUND = 500
NEW = ListId(0)
"""Stands for the id of a list that has none yet."""


class LiveEvents(Protocol):
    """LiveService."""

    async def lists_changed(self, owner_id: AccountId) -> None: ...


@dataclass(kw_only=True, slots=True)
class ListService:
    """`members_cap` and `lists_cap` may be passed by as many as there are concurrent requests."""

    repository: Lists
    memberships: ListMembers
    accounts: Authors
    timelines: TimelineCache
    rules: ListRules
    live: LiveEvents
    members_cap: int
    lists_cap: int = LISTS_PER_ACCOUNT

    async def create(
        self,
        *,
        owner_id: AccountId,
        title: str,
        now_ms: int,
        operation: str | None = None,
        parts: Sequence[ListId] = (),
    ) -> AccountList:
        """A list; with `operation`, a virtual one whose members follow from those of `parts`.

        Raises ListTitleInvalid, ListInvalid, ListsCapReached.
        """
        found = AccountList(NEW, owner_id, validate_title(title), now_ms)
        if operation is not None:
            found = await self._made(found, operation, parts)
        if await self.repository.count(owner_id) >= self.lists_cap:
            raise ListsCapReached
        return await self.repository.add(found)

    async def edit(
        self,
        *,
        owner_id: AccountId,
        list_id: ListId,
        title: str | None = None,
        replies: str | None = None,
        exclusive: bool | None = None,
        operation: str | None = None,
        parts: Sequence[ListId] | None = None,
    ) -> AccountList:
        """Change what is given; true of all pages from the answer on, as everything here is read with them.

        Raises ListNotFound, ListTitleInvalid, ListInvalid.
        """
        checked = validate_title(title) if title is not None else None
        found = await self.get(owner_id=owner_id, list_id=list_id)
        if checked is not None:
            found = replace(found, title=checked)
        if replies is not None:
            found = replace(found, replies=validate_replies(replies))
        if operation is not None or parts is not None:
            require_virtual(found)
            made_by = operation if operation is not None else found.operation or ""
            found = await self._made(found, made_by, found.parts if parts is None else parts)
        if exclusive is not None:
            validate_exclusive(found, exclusive)
        if not await self.repository.edit(found):
            raise ListNotFound
        if exclusive is not None:
            await self.repository.set_exclusive(owner_id, list_id, exclusive)
        if replies is not None or operation is not None or parts is not None:
            await self.live.lists_changed(owner_id)
        return found

    async def exclusive_ids(self, owner_id: AccountId) -> set[ListId]:
        """The owner's lists whose members leave home."""
        return await self.repository.exclusive_ids(owner_id)

    async def rule(self, found: AccountList) -> ListRule:
        """What belongs on its timeline."""
        return await self.rules.load(found)

    async def missing_parts(self, lists: Iterable[AccountList]) -> dict[ListId, tuple[ListId, ...]]:
        """Of virtual lists of one owner, what they were made of and is deleted."""
        return {rule.list_id: rule.missing_parts for rule in await self.rules.load_many(lists)}

    async def all_lists(self, owner_id: AccountId) -> list[AccountList]:
        """Every list of the owner, for choosing parts; bounded by LISTS_PER_ACCOUNT."""
        found = await self.repository.find_many(await self.repository.owned_ids(owner_id))
        return [each for each in found if each is not None]

    async def delete(self, *, owner_id: AccountId, list_id: ListId) -> None:
        """Delete a list. A crash on the way leaves it marked, found by nobody; repeating it does the rest.

        Repeating it within a day is a success that changes nothing; later there is no such list.
        """
        marked = await self.repository.mark_deleted(owner_id, list_id)
        if not marked and not await self.repository.is_indexed(owner_id, list_id):
            raise ListNotFound
        await self._erase(owner_id, list_id)

    async def get(self, *, owner_id: AccountId, list_id: ListId) -> AccountList:
        """One's own list. Raises ListNotFound for those of others, as for none."""
        found = await self.repository.find(list_id)
        if found is None or found.owner_id != owner_id:
            raise ListNotFound
        return found

    async def owner_of(self, list_id: ListId) -> AccountId | None:
        """Whose list it is; None where there is none."""
        found = await self.repository.find(list_id)
        return found.owner_id if found else None

    async def lists(self, owner_id: AccountId, cursor: ListId | None = None, limit: int = 30) -> ListPage:
        """One's own lists, oldest first."""
        return await self.repository.page(owner_id, cursor, limit)

    async def add_member(self, *, owner_id: AccountId, list_id: ListId, account_id: AccountId, now_ms: int) -> bool:
        """Put an account on a list, whether followed or not. False: it was on it already."""
        require_own_members(await self.get(owner_id=owner_id, list_id=list_id))
        await require_visible(self.accounts, account_id)
        async with self._changing(list_id):
            if await self.memberships.count(list_id) >= self.members_cap:
                return await self._repeated(list_id, account_id)
            return await self._add(owner_id, list_id, account_id, now_ms)

    async def remove_member(self, *, owner_id: AccountId, list_id: ListId, account_id: AccountId) -> bool:
        """Take an account off a list. False: it was not on it."""
        require_own_members(await self.get(owner_id=owner_id, list_id=list_id))
        async with self._changing(list_id):
            return await self.memberships.remove(list_id, account_id)

    async def members(
        self, *, owner_id: AccountId, list_id: ListId, cursor: FollowCursor | None = None, limit: int = 30
    ) -> FollowPage:
        """Newest members first; of a virtual list, the newest accounts."""
        found = await self.get(owner_id=owner_id, list_id=list_id)
        read: ReadPage = partial(self.memberships.page, list_id)
        if found.operation is not None:
            read = partial(page_of_ids, await (await self.rules.load(found)).member_ids())
        return await load_visible_page(self.accounts, read, cursor, limit)

    async def member_counts(self, lists: Iterable[AccountList]) -> dict[ListId, int]:
        """How many members each of one's lists has; suspended accounts count on."""
        lists = list(lists)
        counts = await self.memberships.counts([each.id for each in lists if each.operation is None])
        rules = await self.rules.load_many(each for each in lists if each.operation is not None)
        leaves = {leaf for rule in rules for leaf in rule.leaves}
        on = {leaf: await self.memberships.member_ids(leaf) for leaf in leaves}  # once, however many are made of it
        for rule in rules:
            counts[rule.list_id] = len(rule.expression.members(on)) if rule.expression is not None else 0
        return counts

    async def _made(self, found: AccountList, operation: str, parts: Sequence[ListId]) -> AccountList:
        """The list with what it is to be made of. Raises ListInvalid."""
        known = {each.id: each for each in await self.all_lists(found.owner_id)}
        return with_parts(found, operation, parts, known)

    async def _erase(self, owner_id: AccountId, list_id: ListId) -> None:
        while await self.memberships.remove_members(list_id, MEMBERS_PER_ROUND):
            pass
        await self.timelines.invalidate(list_id)
        await self.repository.erase(owner_id, list_id)

    async def _repeated(self, list_id: ListId, account_id: AccountId) -> bool:
        """At the cap, a member that is on the list is no error, but a new one is."""
        if not await self.memberships.has(list_id, account_id):
            raise ListMembersCapReached
        return False

    async def _add(self, owner_id: AccountId, list_id: ListId, account_id: AccountId, now_ms: int) -> bool:
        """Add the member, look again: what was deleted meanwhile may be swept of its edges already."""
        if not await self.memberships.add(list_id, account_id, now_ms):
            return False
        try:
            await self.get(owner_id=owner_id, list_id=list_id)
            await require_visible(self.accounts, account_id)
        except (ListNotFound, AccountNotFound):
            await self.memberships.remove(list_id, account_id)
            raise
        return True

    @asynccontextmanager
    async def _changing(self, list_id: ListId) -> AsyncIterator[None]:
        """Forget the list timeline before and after, also when nothing changed: the next read rebuilds it."""
        await self.timelines.invalidate(list_id)
        try:
            yield
        finally:
            await self.timelines.invalidate(list_id)
