"""Lists of accounts, whose posts the owner reads separately from home.

Only the owner sees a list, unless it is public (timelines/public_lists).
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Unpack

from accounts.accounts.service import AccountService
from accounts.errors import AccountNotFound
from socialsite.ids import AccountId
from socialsite.limits import ActionLimits, Caller
from socialsite.service import Service
from timelines.cached_timelines.repository import CachedTimelines, invalidate_around
from timelines.errors import ListInvalid, ListMembersCapReached, ListNotFound, ListsCapReached, MemberLeftList
from timelines.graph.follow import FIRST_PASS, FollowCursor, FollowPage
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.ids import ListId
from timelines.lists import validation
from timelines.lists.account_list import LISTS_PER_ACCOUNT, PUBLIC_MEMBERS_CAP, AccountList, ListPage
from timelines.lists.repository import ListMembers, Lists
from timelines.lists.rules import ListRule, ListRules
from timelines.live_updates.service import LiveService
from timelines.pages.menu_cache import MenuCache
from timelines.pages.page import PagePart, PageRequest, TimelinePage
from timelines.reading.service import ReadingService
from timelines.reading.skeletons import CachedSkeleton, MergedSkeleton, Skeleton
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.accounts import ReadPage, load_visible_page, page_of_ids, require_visible
from timelines.visibility.rights import ViewContext

MEMBERS_PER_ROUND = 500
LISTS_IN_MENU = 8
PUBLIC_LISTS_WITH_ACCOUNT = 200
NEW = ListId(0)
"""The id of a list that is not stored yet."""
FindRefusal = Callable[[AccountId, Iterable[tuple[str, str]]], Awaitable[str]]
"""Returns why the texts of an account may not have links, or "" (FirstLinks)."""


class ListService(Service):
    """Reads and changes lists. `members_cap` and `lists_cap` can be exceeded by the number of concurrent requests."""

    repository: Lists
    memberships: ListMembers
    accounts: AccountService
    timelines: CachedTimelines
    rules: ListRules
    reading: ReadingService
    follows: Follows
    follow_requests: FollowRequests
    live: LiveService
    limits: ActionLimits
    members_cap: int
    find_refusal: FindRefusal
    lists_cap: int = LISTS_PER_ACCOUNT
    menus: MenuCache[AccountList] = field(default_factory=MenuCache)

    async def create(
        self,
        *,
        owner_id: AccountId,
        title: str,
        now_ms: int,
        operation: str | None = None,
        parts: Sequence[ListId] = (),
    ) -> AccountList:
        """Create a list. With `operation` it is a virtual list, whose members are derived from `parts`.

        Raises ListTitleInvalid, ListInvalid, ListsCapReached.
        """
        account_list = AccountList(NEW, owner_id, validation.validate_title(title), now_ms)
        if operation is not None:
            account_list = await self._with_parts(account_list, operation, parts)
        if await self.repository.count(owner_id) >= self.lists_cap:
            raise ListsCapReached
        await self.limits.enforce_bytes("lists", owner_id, len(account_list.title.encode()))
        added = await self.repository.add(account_list)
        self.menus.drop(owner_id)
        return added

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
        description: str | None = None,
        public_ms: int | None = None,
    ) -> AccountList:
        """Change the settings that are not None. All pages show the change immediately.

        `public_ms` is the current time to make the list public, and 0 to make it private.

        Raises ListNotFound, ListTitleInvalid, ListInvalid.
        """
        valid_title = validation.validate_title(title) if title is not None else None
        stored = account_list = await self.get(owner_id=owner_id, list_id=list_id)
        if valid_title is not None:
            account_list = replace(account_list, title=valid_title)
            await self.limits.enforce_bytes("lists", owner_id, len(valid_title.encode()))
        if replies is not None:
            account_list = replace(account_list, replies=validation.validate_replies(replies))
        if operation is not None or parts is not None:
            validation.require_virtual(account_list)
            new_operation = operation if operation is not None else account_list.operation or ""
            account_list = await self._with_parts(
                account_list, new_operation, account_list.parts if parts is None else parts
            )
        if exclusive is not None:
            validation.validate_exclusive(account_list, exclusive)
        account_list = await self._with_public_settings(account_list, description, public_ms)
        if not await self.repository.edit(stored, account_list):
            raise ListNotFound
        self.menus.drop(owner_id)
        if exclusive is not None:
            await self.repository.set_exclusive(owner_id, list_id, exclusive)
        if public_ms is not None:
            await self.repository.set_public(list_id, account_list.public_ms)
        if replies is not None or operation is not None or parts is not None:
            await self.live.lists_changed(owner_id)
        return account_list

    async def lists_with(self, lists: Sequence[AccountList], account_id: AccountId) -> set[ListId]:
        """Return the lists that have the account as a member of their own."""
        return await self.memberships.lists_with([each.id for each in lists], account_id)

    async def exclusive_ids(self, owner_id: AccountId) -> set[ListId]:
        """Return the owner's exclusive lists, which hide their members from home."""
        return await self.repository.exclusive_ids(owner_id)

    async def rule(self, account_list: AccountList) -> ListRule:
        """Return the rule that decides which posts are on the list's timeline."""
        return await self.rules.load(account_list)

    async def missing_parts(self, lists: Iterable[AccountList]) -> dict[ListId, tuple[ListId, ...]]:
        """Return the deleted parts of virtual lists of one owner."""
        return {rule.list_id: rule.missing_parts for rule in await self.rules.load_many(lists)}

    async def all_lists(self, owner_id: AccountId) -> list[AccountList]:
        """Return all lists of the owner, at most about LISTS_PER_ACCOUNT."""
        lists = await self.repository.find_many(await self.repository.owned_ids(owner_id))
        return [each for each in lists if each is not None]

    async def delete(self, *, owner_id: AccountId, list_id: ListId) -> None:
        """Delete a list. After a crash, a list that is marked as deleted is invisible, and a repetition erases it.

        A repetition within a day succeeds. Raises ListNotFound later, or if the list never existed.
        """
        is_marked = await self.repository.mark_deleted(owner_id, list_id)
        if not is_marked and not await self.repository.is_indexed(owner_id, list_id):
            raise ListNotFound
        self.menus.drop(owner_id)
        await self._erase(owner_id, list_id)

    async def get(self, *, owner_id: AccountId, list_id: ListId) -> AccountList:
        """Return a list of the owner. Raises ListNotFound if it does not exist or has another owner."""
        account_list = await self.repository.find(list_id)
        if account_list is None or account_list.owner_id != owner_id:
            raise ListNotFound
        return account_list

    async def lists(self, owner_id: AccountId, cursor: int | None = None, limit: int = 30) -> ListPage:
        """Return a page of the owner's lists, oldest first."""
        return await self.repository.page(owner_id, cursor, limit)

    # The timeline

    async def read_timeline(
        self, list_id: ListId, *, viewer_id: AccountId | None, **part: Unpack[PagePart]
    ) -> TimelinePage:
        """Return posts of the members of the list. The caller checks that the viewer owns the list.

        Raises RateLimited.
        """
        rule, reading = await self.rules.find(list_id), self.reading
        viewer = ViewerContext(viewer_id, ViewContext.LIST, rule.read_member_authors, rule.reply_rights)
        skeleton: Skeleton = self.skeleton(list_id, reader_id=viewer_id)
        if rule.expression is not None:  # no posts are pushed to virtual lists
            skeleton = MergedSkeleton(reading.author_timelines, reading.with_limit(rule.member_ids, viewer_id))
        return await reading.pipeline.read_page(skeleton, PageRequest(**part), viewer)

    def skeleton(self, list_id: ListId, *, reader_id: AccountId | None = None) -> CachedSkeleton:
        """Return the skeleton that reads the cached timeline, and rebuilds it."""

        async def read_author_ids() -> list[AccountId]:
            return await (await self.rules.find(list_id)).member_ids()

        feeds = self.reading.author_timelines
        return CachedSkeleton(self.timelines, feeds, list_id, self.reading.with_limit(read_author_ids, reader_id))

    # Members

    async def add_member(self, *, owner_id: AccountId, list_id: ListId, account_id: AccountId, now_ms: int) -> bool:
        """Add a member, which the owner need not follow. Return whether the member is new. Raises MemberLeftList."""
        account_list = await self.get(owner_id=owner_id, list_id=list_id)
        validation.require_own_members(account_list)
        await self._require_may_publish(account_list)
        await require_visible(self.accounts, account_id)
        if await self.repository.has_left(account_id, list_id):
            raise MemberLeftList
        async with invalidate_around(self.timelines, list_id):
            cap = min(self.members_cap, PUBLIC_MEMBERS_CAP) if account_list.public_ms else self.members_cap
            if await self.memberships.count(list_id) >= cap:
                return await self._repeat_at_cap(list_id, account_id)
            return await self._add(owner_id, list_id, account_id, now_ms)

    async def add_followed(
        self, *, owner_id: AccountId, list_id: ListId, account_ids: Sequence[AccountId], now_ms: int
    ) -> None:
        """Add members that the owner follows or has requested to follow; apps of Mastodon rely on this.

        The owner may be a member. Raises AccountNotFound before any member is added.
        """
        await self.get(owner_id=owner_id, list_id=list_id)
        known = {owner_id, *await self.follows.followed_among(owner_id, account_ids)}
        if not known.issuperset(account_ids):
            known |= await self.follow_requests.requested_among(owner_id, account_ids)
        if not known.issuperset(account_ids):
            raise AccountNotFound
        for account_id in account_ids:
            await self.add_member(owner_id=owner_id, list_id=list_id, account_id=account_id, now_ms=now_ms)

    async def remove_member(self, *, owner_id: AccountId, list_id: ListId, account_id: AccountId) -> bool:
        """Remove a member. Return whether the account was a member."""
        validation.require_own_members(await self.get(owner_id=owner_id, list_id=list_id))
        async with invalidate_around(self.timelines, list_id):
            return await self.memberships.remove(list_id, account_id)

    async def public_lists_with(self, account_id: AccountId) -> list[AccountList]:
        """Return public lists of others that have the account as a member."""
        page = await self.memberships.listed_on_pass(account_id, FIRST_PASS, PUBLIC_LISTS_WITH_ACCOUNT)
        lists = await self.repository.find_many(page.ids)
        return [each for each in lists if each is not None and each.public_ms and each.owner_id != account_id]

    async def leave(self, *, account_id: AccountId, list_id: ListId, now_ms: int) -> bool:
        """Remove the account from a public list for good. Return whether it was a member. Raises ListNotFound."""
        account_list = await self.repository.find(list_id)
        if account_list is None or not (account_list.public_ms or await self.repository.has_left(account_id, list_id)):
            raise ListNotFound
        if account_list.owner_id != account_id:
            await self.repository.leave(account_id, list_id, now_ms)
        async with invalidate_around(self.timelines, list_id):
            return await self.memberships.remove(list_id, account_id)

    async def members(
        self, *, owner_id: AccountId, list_id: ListId, cursor: FollowCursor | None = None, limit: int = 30
    ) -> FollowPage:
        """Return a page of members; the last added comes first. For a virtual list, the newest account comes first."""
        account_list = await self.get(owner_id=owner_id, list_id=list_id)
        read: ReadPage = partial(self.memberships.page, list_id)
        if account_list.operation is not None:
            read = partial(page_of_ids, await (await self.rules.load(account_list)).member_ids())
        return await load_visible_page(self.accounts, read, cursor, limit)

    async def member_counts(self, lists: Iterable[AccountList]) -> dict[ListId, int]:
        """Return the number of members of each list of one owner. Suspended accounts are counted."""
        lists = list(lists)
        counts = await self.memberships.counts([each.id for each in lists if each.operation is None])
        rules = await self.rules.load_many(each for each in lists if each.operation is not None)
        leaves = {leaf for rule in rules for leaf in rule.leaves}
        members = await self.memberships.member_ids_of(leaves)  # read once for all virtual lists
        for rule in rules:
            counts[rule.list_id] = len(rule.expression.members(members)) if rule.expression is not None else 0
        return counts

    async def _with_public_settings(
        self, account_list: AccountList, description: str | None, public_ms: int | None
    ) -> AccountList:
        """Return the list with the settings that are not None. Raises ListInvalid, and FieldErrors for its texts."""
        if description is not None:
            account_list = replace(account_list, description=validation.validate_description(description))
            await self.limits.enforce_bytes("lists", account_list.owner_id, len(account_list.description.encode()))
        others = 0
        if public_ms is not None:
            if public_ms and not account_list.public_ms:
                others = sum(each.public_ms > 0 for each in await self.all_lists(account_list.owner_id))
            account_list = replace(account_list, public_ms=public_ms and (account_list.public_ms or public_ms))
        if account_list.public_ms:
            await self._require_may_publish(account_list)
            validation.validate_public(account_list, await self.memberships.count(account_list.id), others)
            texts = {"title": account_list.title, "description": account_list.description}
            self.accounts.check_texts(texts)
            if reason := await self.find_refusal(account_list.owner_id, texts.items()):
                raise ListInvalid({"description": reason})
        return account_list

    async def _require_may_publish(self, account_list: AccountList) -> None:
        """Raise AccountSilenced if everybody sees the list and its owner may not write now."""
        if account_list.public_ms and (owner := await self.accounts.find(account_list.owner_id)) is not None:
            self.limits.require_may_write(Caller(account_list.owner_id, "", silenced_until_ms=owner.silenced_until_ms))

    async def _with_parts(self, account_list: AccountList, operation: str, parts: Sequence[ListId]) -> AccountList:
        """Return the list as a virtual list with these parts. Raises ListInvalid."""
        lists = {each.id: each for each in await self.all_lists(account_list.owner_id)}
        return validation.with_parts(account_list, operation, parts, lists)

    async def _erase(self, owner_id: AccountId, list_id: ListId) -> None:
        while await self.memberships.remove_members(list_id, MEMBERS_PER_ROUND):
            pass
        await self.timelines.invalidate(list_id)
        await self.repository.erase(owner_id, list_id)

    async def _repeat_at_cap(self, list_id: ListId, account_id: AccountId) -> bool:
        """Allow a repeated membership at the cap. Raises ListMembersCapReached if the membership is new."""
        if not await self.memberships.has(list_id, account_id):
            raise ListMembersCapReached
        return False

    async def _add(self, owner_id: AccountId, list_id: ListId, account_id: AccountId, now_ms: int) -> bool:
        """Add the member, then check list and account again, because a concurrent deletion may have missed the edge."""
        if not await self.memberships.add(list_id, account_id, now_ms):
            return False
        try:
            await self.get(owner_id=owner_id, list_id=list_id)
            await require_visible(self.accounts, account_id)
            if await self.repository.has_left(account_id, list_id):
                raise MemberLeftList
        except (ListNotFound, AccountNotFound, MemberLeftList):
            await self.memberships.remove(list_id, account_id)
            raise
        return True
