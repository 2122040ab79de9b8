"""Public lists: lists of accounts that everybody may read, and whose members a reader may follow at once.

A list shows nobody against their will: it leaves out members that block the owner or are blocked, members that staff
suspended or limited, and members that chose not to be suggested. A member may leave a list for good. Staff can
hide a list by the setting `held_lists`.
"""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from accounts.accounts.service import AccountService
from accounts.domain import Author
from accounts.errors import AccountNotFound
from socialsite.errors import RateLimited
from socialsite.ids import AccountId, TimeSource, parse_id
from socialsite.limits import ActionLimits, Caller
from socialsite.service import Service
from socialsite.site.service import SiteService
from socialsite.store import Read, Store
from timelines.errors import FollowingCapReached, FollowRequestsCapReached, ListNotFound
from timelines.following.follow_requests import FollowRequestService
from timelines.following.service import FollowingService
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.ids import ListId
from timelines.lists.account_list import PUBLIC_MEMBERS_CAP, AccountList
from timelines.lists.repository import ListMembers, Lists
from timelines.lists.service import LISTS_IN_MENU, ListService
from timelines.pages.page import PageRequest, TimelinePage
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext
from timelines.visibility.viewer_state import read_viewer_relations

EXPLORE_CANDIDATES = 60
"""The number of the newest public lists from which Explore chooses."""
FOLLOWING_MS = 3_000
"""The time after which no further member is followed, so that the request is answered within its deadline."""
FOLLOWS_PER_DAY = 2 * PUBLIC_MEMBERS_CAP
"""The most accounts that an account may follow in a day by following all members of lists."""


class ExploredList(NamedTuple):
    """A public list on Explore, with its owner and its number of members."""

    account_list: AccountList
    owner: Author
    members: int


@dataclass(slots=True)
class FollowedMembers:
    """The members of a list that the reader follows now, or requested to follow.

    `is_complete` is false if a limit was reached or the time was over.
    """

    followed: list[AccountId] = field(default_factory=list)
    requested: list[AccountId] = field(default_factory=list)
    is_complete: bool = True


class PublicListService(Service):
    store: Store
    lists: ListService
    repository: Lists
    memberships: ListMembers
    accounts: AccountService
    following: FollowingService
    follow_requests: FollowRequestService
    blocks_and_mutes: BlocksAndMutes
    pipeline: ReadPipeline
    limits: ActionLimits
    clock: TimeSource
    site: SiteService

    async def find(self, list_id: ListId, viewer_id: AccountId | None) -> AccountList:
        """Return a list of the viewer, or a public list that the viewer may see. Raises ListNotFound."""
        for account_list in await self.find_many([list_id], viewer_id):
            return account_list
        raise ListNotFound

    async def find_many(self, list_ids: Iterable[ListId], viewer_id: AccountId | None) -> list[AccountList]:
        """Return the lists of the viewer, and the public lists that the viewer may see, in the order of their ids."""
        lists = [each for each in await self.repository.find_many(list_ids) if each is not None]
        public = [each for each in lists if each.owner_id != viewer_id and self.is_public(each)]
        owners = await self._find_owners(public, viewer_id) if public else {}
        return [each for each in lists if each.owner_id == viewer_id or (each in public and each.owner_id in owners)]

    async def load_menu(self, viewer_id: AccountId, now_ms: int, tabs: Iterable[str] | None) -> None:
        """Read the lists among the viewer's tabs into the menu cache, or the first lists if there is no choice."""
        if tabs is None:
            chosen = (await self.lists.all_lists(viewer_id))[:LISTS_IN_MENU]
        else:
            chosen = await self.find_many(list_ids_of(tabs), viewer_id)
        self.lists.menus.put(viewer_id, chosen, now_ms)

    async def member_ids(self, account_list: AccountList, viewer_id: AccountId | None) -> list[AccountId]:
        """Return the members that the list shows to the viewer, the last added first."""
        ids = (await self.memberships.page(account_list.id, None, PUBLIC_MEMBERS_CAP)).account_ids
        viewers = [account_list.owner_id, *([] if viewer_id is None else [viewer_id])]
        authors, undiscoverable, *blocked = await self.store.read(
            self.accounts.read_authors(ids),
            self.accounts.read_undiscoverable(ids),
            *(self.blocks_and_mutes.blocked_either_way(each, ids) for each in viewers),
        )
        shown = (id for id in ids if id in authors and id not in undiscoverable.union(*blocked))
        return [id for id in shown if authors[id].is_visible and not authors[id].limited]

    async def read_timeline(
        self,
        account_list: AccountList,
        shown_ids: Collection[AccountId],
        request: PageRequest,
        viewer_id: AccountId | None,
    ) -> TimelinePage:
        """Return posts of the members that the list shows, as far as the viewer may see them."""
        rule, members = await self.lists.rule(account_list), frozenset(shown_ids)

        def read_shown(authors: Collection[AccountId]) -> Read[set[AccountId]]:
            return Read((), lambda _: {*members.intersection(authors)})

        viewer = ViewerContext(viewer_id, ViewContext.LIST, read_shown, rule.reply_rights)
        return await self.pipeline.read_page(self.lists.skeleton(account_list.id), request, viewer)

    async def lists_with(self, account_id: AccountId) -> list[AccountList]:
        """Return the public lists that have the account as a member, and that it may see."""
        lists = [each for each in await self.lists.public_lists_with(account_id) if self.is_public(each)]
        owners = await self._find_owners(lists, account_id) if lists else {}
        return [each for each in lists if each.owner_id in owners]

    async def relation(
        self, account_list: AccountList, member_ids: Sequence[AccountId], viewer_id: AccountId | None
    ) -> tuple[set[AccountId], bool]:
        """Return which members the viewer follows or requested to follow, and whether the viewer is a member."""
        if viewer_id is None:
            return set(), False
        followed, requested, is_member = await self.store.read(
            self.following.followed_among(viewer_id, member_ids),
            self.follow_requests.requested_among(viewer_id, member_ids),
            self.memberships.has(account_list.id, viewer_id),
        )
        return followed | requested, is_member

    async def explored(self, viewer_id: AccountId | None, limit: int) -> list[ExploredList]:
        """Return new public lists, one of each owner. Owners that may not be suggested are left out."""
        newest = await self.repository.newest_public(EXPLORE_CANDIDATES) if limit else []
        shown = [each for each in newest if self.is_public(each)]
        owners = await self._find_owners(shown, viewer_id) if shown else {}
        lists = {each.owner_id: each for each in reversed(shown) if each.owner_id in owners}
        undiscoverable, *counts = await self.store.read(
            self.accounts.read_undiscoverable(lists), *(self.memberships.count(each.id) for each in lists.values())
        )
        hidden_ids = undiscoverable | {AccountId(int(id)) for id in self.site.settings.held_accounts}
        rows = (
            ExploredList(each, owners[id], count)
            for (id, each), count in zip(lists.items(), counts, strict=True)
            if count and id not in hidden_ids and not owners[id].private
        )
        return sorted(rows, key=lambda row: -row.account_list.public_ms)[:limit]

    async def follow_all(self, account_list: AccountList, viewer_id: AccountId, caller: Caller) -> FollowedMembers:
        """Follow the members that the list shows. A private account receives a request."""
        ids = [id for id in await self.member_ids(account_list, viewer_id) if id != viewer_id]
        followed, _ = await self.relation(account_list, ids, viewer_id)
        new_ids = [id for id in ids if id not in followed]
        granted = await self.limits.take_daily(caller, "listfollows", FOLLOWS_PER_DAY, len(new_ids))
        result, until_ms, done = FollowedMembers(), self.clock.now_ms() + FOLLOWING_MS, 0
        with suppress(FollowingCapReached, RateLimited):
            for member_id in new_ids[:granted]:
                if self.clock.now_ms() > until_ms:
                    break
                await self._follow(viewer_id, member_id, caller, result)
                done += 1
        await self.limits.refund_daily(caller, "listfollows", granted - done)
        result.is_complete = done == len(new_ids)
        return result

    async def _follow(
        self, viewer_id: AccountId, member_id: AccountId, caller: Caller, result: FollowedMembers
    ) -> None:
        """Follow one member, unless it vanished, blocks the viewer meanwhile, or cannot be requested now."""
        with suppress(AccountNotFound, FollowRequestsCapReached):
            await self.limits.enforce_newcomer_follow(caller)
            is_followed = await self.following.follow(
                follower_id=viewer_id, followed_id=member_id, now_ms=self.clock.now_ms()
            )
            (result.followed if is_followed else result.requested).append(member_id)

    def is_public(self, account_list: AccountList) -> bool:
        """Return whether the owner made the list public, and staff did not hide it."""
        return account_list.public_ms > 0 and str(account_list.id) not in self.site.settings.held_lists

    async def _find_owners(self, lists: Sequence[AccountList], viewer_id: AccountId | None) -> dict[AccountId, Author]:
        ids = list({each.owner_id for each in lists})
        reads: list[Read[Any]] = [self.accounts.read_authors(ids)]
        if viewer_id is not None:
            reads.append(read_viewer_relations(viewer_id, (), ids, self.clock.now_ms()))
        authors, *relations = await self.store.read(*reads)
        hidden = {id for each in relations for id in (*each.blocks, *each.blocked_by)}
        return {id: each for id, each in authors.items() if each.is_visible and not each.limited and id not in hidden}


def list_ids_of(tabs: Iterable[str]) -> list[ListId]:
    """Return the ids of the lists among the names of tabs."""
    return [ListId(list_id) for list_id in map(parse_id, tabs) if list_id is not None]
