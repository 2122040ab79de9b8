"""Imports Mastodon's CSV files: followed, muted and blocked accounts, and lists. Nobody is notified."""

import csv
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from typing import IO

from accounts.accounts.service import AccountService
from accounts.errors import AccountNotFound
from socialsite.errors import ApiError, NewcomerLimited, Unavailable
from socialsite.ids import AccountId, PostId
from socialsite.limits import ActionLimits, Caller
from timelines.errors import ListNotFound
from timelines.exporting.repository import RecordImported
from timelines.exporting.transfer import ImportContent, Transfer
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.following.service import FollowingService
from timelines.ids import ListId
from timelines.importing.archive_files import ArchiveUnreadable
from timelines.importing.lines import Tally
from timelines.importing.posts import StoreProgress
from timelines.lists.service import ListService
from timelines.lists.validation import validate_title

CSV_ROWS_CAP = 20_000
HEADERS = ("account address", "list name")


@dataclass(frozen=True, slots=True)
class AddressRow:
    """A row: an address, the title of a list, and whether the boosts of the account are shown."""

    number: int
    address: str
    title: str = ""
    shows_boosts: bool = True


def read_rows(file: IO[bytes], content: ImportContent) -> Iterator[AddressRow]:
    """Yield the rows of a file with or without a header. Raises ArchiveUnreadable."""
    text = TextIOWrapper(file, "utf-8-sig", newline="")
    try:
        for number, row in enumerate(csv.reader(text), 1):
            if number > CSV_ROWS_CAP:
                raise ArchiveUnreadable("too_large")
            fields = [field.strip() for field in row[:2]]
            if not any(fields) or (number == 1 and fields[0].lower() in HEADERS):
                continue
            if content == "lists":
                yield AddressRow(number, fields[1] if len(fields) > 1 else "", fields[0])
            else:
                shows_boosts = len(fields) < 2 or fields[1].lower() != "false"
                yield AddressRow(number, fields[0], shows_boosts=shows_boosts)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ArchiveUnreadable("unreadable") from error
    finally:
        text.detach()


@dataclass(kw_only=True, slots=True)
class AccountListsImport:
    """Applies rows. `following` has no notifications."""

    accounts: AccountService
    following: FollowingService
    blocks_and_mutes: BlocksAndMutesService
    lists: ListService
    limits: ActionLimits

    async def run(
        self, account_id: AccountId, transfer: Transfer, file: IO[bytes], tally: Tally, now_ms: int,
        *, caller: Caller, progress: StoreProgress, record: RecordImported,
    ) -> None:  # fmt: skip
        """Apply the rows that no earlier job has applied, or for a preview check them. A repetition changes nothing.

        The follows of a new account have the limit of new accounts. Raises ArchiveUnreadable, StoreError.
        """
        for row in read_rows(file, transfer.content):
            if row.number > transfer.offset:
                await self._import(account_id, transfer, row, tally, now_ms, caller, record)
                await progress(row.number)

    async def _import(
        self, account_id: AccountId, transfer: Transfer, row: AddressRow, tally: Tally, now_ms: int,
        caller: Caller, record: RecordImported,
    ) -> None:  # fmt: skip
        try:
            other_id = await self._find(row.address, transfer.base_url.partition("://")[2])
            if transfer.state != "running":
                await self._apply(account_id, other_id, transfer.content, row, now_ms, caller, record)
        except Unavailable:
            raise
        except ApiError as error:
            code = "limit" if isinstance(error, NewcomerLimited) else error.code
            tally.refuse(row.number, "account" if isinstance(error, AccountNotFound) else code)
        else:
            tally.counts["accounts"] += 1

    async def _find(self, address: str, host: str) -> AccountId:
        """Return the account of an address of this site. Raises AccountNotFound."""
        handle, _, domain = address.removeprefix("@").partition("@")
        name = handle if domain.lower() == host else address.removeprefix("@")
        return AccountId((await self.accounts.get_by_handle(name)).id)

    async def _apply(
        self, account_id: AccountId, other_id: AccountId, content: ImportContent, row: AddressRow, now_ms: int,
        caller: Caller, record: RecordImported,
    ) -> None:  # fmt: skip
        if content == "lists":
            list_id = await self._find_list(account_id, row.title, now_ms, record)
            if not await self.lists.memberships.has(list_id, other_id):
                await record([(f"{list_id:032x}", PostId(other_id))])
            await self.lists.add_member(owner_id=account_id, list_id=list_id, account_id=other_id, now_ms=now_ms)
            return
        relation = await self.blocks_and_mutes.relationship(account_id, other_id, now_ms)
        follows = relation.follows or relation.requested
        if not {"following": follows, "muted": relation.mutes, "blocked": relation.blocks}[content]:
            if content == "following":
                await self.limits.enforce_newcomer_follow(caller)
            await record([(f"{0:032x}", PostId(other_id))])
        if content == "following":
            await self.following.follow(follower_id=account_id, followed_id=other_id, now_ms=now_ms)
            if row.shows_boosts:
                return
        at = self.blocks_and_mutes
        apply = {"following": at.hide_boosts, "muted": at.mute, "blocked": at.block}[content]
        await apply(account_id=account_id, other_id=other_id, now_ms=now_ms)

    async def remove(self, account_id: AccountId, content: ImportContent, list_id: ListId, other_id: AccountId) -> None:
        """Undo a row, or with the id 0 the creation of a list, unless it has members that the import did not add.

        Follows that a block removed do not come back.
        """
        if content == "lists":
            with suppress(ListNotFound):
                if other_id:
                    await self.lists.remove_member(owner_id=account_id, list_id=list_id, account_id=other_id)
                elif not await self.lists.memberships.count(list_id):
                    await self.lists.delete(owner_id=account_id, list_id=list_id)
            return
        if content == "following":
            await self.following.unfollow(follower_id=account_id, followed_id=other_id)
        at = self.blocks_and_mutes
        undo = {"following": at.show_boosts, "muted": at.unmute, "blocked": at.unblock}[content]
        await undo(account_id=account_id, other_id=other_id)

    async def _find_list(self, account_id: AccountId, raw_title: str, now_ms: int, record: RecordImported) -> ListId:
        """Return the list with this title, or create it. Raises ListTitleInvalid, ListsCapReached."""
        title = validate_title(raw_title)
        for each in await self.lists.all_lists(account_id):
            if each.title == title and not each.operation:
                return each.id
        created = await self.lists.create(owner_id=account_id, title=title, now_ms=now_ms)
        await record([(f"{created.id:032x}", PostId(0))])
        return created.id
