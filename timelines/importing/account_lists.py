"""Imports Mastodon's CSV files: followed, muted and blocked accounts, and lists. No account is notified.

Spreadsheets write such files with semicolons or tabs, in UTF-16 or windows-1252, and FALSE in their own language.
"""

import codecs
import csv
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from itertools import islice
from typing import IO
from urllib.parse import urlsplit

from accounts.accounts.service import AccountService
from accounts.errors import AccountNotFound
from socialsite.errors import ApiError, NewcomerLimited, Unavailable
from socialsite.ids import AccountId, PostId
from socialsite.limits import ActionLimits, Caller
from socialsite.service import Part
from socialsite.site_host import remove_own_host
from timelines.errors import ListNotFound
from timelines.exporting.repository import RecordImported
from timelines.exporting.transfer import ImportContent, Transfer
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.following.service import FollowingService
from timelines.ids import ListId
from timelines.importing.archive_files import ArchiveUnreadable, is_packed
from timelines.importing.lines import Tally
from timelines.importing.posts import StoreProgress
from timelines.lists.service import ListService
from timelines.lists.validation import validate_title

CSV_ROWS_CAP = 20_000
LINE_MAX_LENGTH = 64 * 1024
SEPARATORS = (",", ";", "\t")
ADDRESS_HEADER, BOOSTS_HEADER, LIST_HEADER = "account address", "show boosts", "list name"
OTHER_HEADERS = {"blocked": BOOSTS_HEADER, "muted": BOOSTS_HEADER, "following": "hide notifications"}
"""A column that only a list of another kind has. Without a check people would block the accounts that they follow."""
FALSE = frozenset({"false", "falsch", "faux", "falso", "fałsz", "onwaar", "0", "no"})


@dataclass(frozen=True, slots=True)
class AddressRow:
    """A row: an address, the title of a list, and whether the boosts of the account are shown."""

    number: int
    address: str
    title: str = ""
    shows_boosts: bool = True


def read_rows(file: IO[bytes], content: ImportContent) -> Iterator[AddressRow]:
    """Yield the rows of a file with or without a header. Raises ArchiveUnreadable if the list is unreadable or of
    another kind."""
    if is_packed(file):
        raise ArchiveUnreadable("unknown_format")
    text = TextIOWrapper(file, _find_encoding(file), newline="")
    address_at, detail_at = (1, 0) if content == "lists" else (0, 1)
    try:
        separator, has_addresses = _find_separator(text), False
        for number, row in enumerate(csv.reader(text, delimiter=separator), 1):
            if number > CSV_ROWS_CAP:
                raise ArchiveUnreadable("too_large")
            fields = [field.strip() for field in row]
            names = [field.lower() for field in fields]
            if ADDRESS_HEADER in names and not has_addresses:
                if content in OTHER_HEADERS and OTHER_HEADERS[content] in names:
                    raise ArchiveUnreadable("unknown_format")
                address_at = names.index(ADDRESS_HEADER)
                header = LIST_HEADER if content == "lists" else BOOSTS_HEADER
                detail_at = names.index(header) if header in names else int(not address_at)
            elif any(fields) and (has_addresses or not names[0].startswith((LIST_HEADER, "sep="))):
                has_addresses = True
                address, detail = (fields[at] if at < len(fields) else "" for at in (address_at, detail_at))
                is_list = content == "lists"
                yield AddressRow(number, address, detail if is_list else "", is_list or detail.lower() not in FALSE)
    except (UnicodeError, csv.Error) as error:
        raise ArchiveUnreadable("unreadable") from error
    finally:
        text.detach()


def _find_encoding(file: IO[bytes]) -> str:
    """Return UTF-16 if the file begins with a byte order mark, UTF-8 if it is valid UTF-8, else windows-1252."""
    start = file.read(2)
    file.seek(0)
    if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    text = TextIOWrapper(file, "utf-8-sig")
    try:
        while text.read(LINE_MAX_LENGTH):
            pass
    except UnicodeDecodeError:
        return "cp1252"
    finally:
        text.detach()
        file.seek(0)
    return "utf-8-sig"


def _find_separator(text: TextIOWrapper) -> str:
    """Return the separator that Excel's first line names, or the one that divides it into the most fields."""
    lines = islice(iter(partial(text.readline, LINE_MAX_LENGTH), ""), CSV_ROWS_CAP)
    first = next(filter(str.strip, lines), "").strip("\r\n")
    text.seek(0)
    if first.lower().startswith("sep=") and len(first) == 5:
        return first[4]
    return max(SEPARATORS, key=lambda separator: len(next(csv.reader([first], delimiter=separator), [])))


class AccountListsImport(Part):
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
        """Apply the rows that no earlier job has applied. For a preview, only check them. A repetition changes nothing.

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
            other_id = await self._find(row.address, transfer.base_url)
            if transfer.state != "running":
                await self._apply(account_id, other_id, transfer.content, row, now_ms, caller, record)
        except Unavailable:
            raise
        except ApiError as error:
            code = "limit" if isinstance(error, NewcomerLimited) else error.code
            tally.refuse(row.number, "account" if isinstance(error, AccountNotFound) else code)
        else:
            tally.counts["accounts"] += 1

    async def _find(self, address: str, base_url: str) -> AccountId:
        """Return the account of an address of this site. Raises AccountNotFound."""
        name = address.removeprefix("acct:").removeprefix("@")
        handle, _, host = name.partition("@")
        parts = urlsplit(base_url)
        is_own = host.lower() in (parts.netloc.lower(), parts.hostname)
        return AccountId((await self.accounts.get_by_handle(handle if is_own else remove_own_host(name))).id)

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
        """Undo a row. With the id 0, delete a list that the import created, if it is empty.

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
