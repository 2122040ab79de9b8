"""Imports by a person: a preview, the import after a confirmation, and its undoing. The jobs are in `archives`.

Each step is a job in slices, and may be interrupted and repeated. The posts of an import are recorded before they are
written, so that all of them can be deleted again while the record exists.
"""

import asyncio
import time
from collections import Counter
from typing import IO, Any

import structlog
from django.core.files.base import File
from msgspec import structs

from accounts.accounts.service import AccountService
from accounts.domain import DELETED
from accounts.mail.service import MailService
from socialsite.concurrency import run_together
from socialsite.ids import AccountId, PostId, TimeSource, ms_from_id
from socialsite.limits import ActionLimits, Caller, request_address, worker_caller
from socialsite.recipes.job import PermanentFailure
from socialsite.service import Service
from socialsite.site.service import SiteService
from timelines.errors import ImportInvalid, PostNotFound, TransferNotFound
from timelines.exporting.repository import BOOKMARK, LIKE, ImportedPost, Transfers
from timelines.exporting.service import PROGRESS_INTERVAL_MS, ExportService
from timelines.exporting.transfer import ImportContent, Transfer, TransferJob, TransferState, decode_job
from timelines.ids import ListId
from timelines.importing.account_archive import AccountArchive
from timelines.importing.account_lists import AccountListsImport
from timelines.importing.archive_files import ArchiveUnreadable
from timelines.importing.bluesky import BlueskyArchive, is_car
from timelines.importing.lines import SliceEnded, Tally
from timelines.importing.posts import PostsImport, PostsOptions
from timelines.importing.reactions import ReactionsImport
from timelines.importing.repository import ImportedPosts
from timelines.importing.rows import RowRules
from timelines.media.processing import postpones_storage_failures
from timelines.media.storage import MediaFiles
from timelines.notifications.kinds import ARCHIVE, IMPORT
from timelines.notifications.service import NotificationService
from timelines.publishing.service import PublishingService
from timelines.text.linkify import has_links

IMPORTS_PER_DAY = 20
IMPORT_ROWS_CAP = 200_000
REACTIONS_OFFSET = 1_000_000_000
"""Added to the number of the last imported like or bookmark in jobs that have imported all posts."""
CSV_MAX_BYTES = 20 * 1024 * 1024
SLICE_S = 15.0
UNREADABLE_ROWS_MAX = 1_000
"""If a file begins with so many rows that have another form, it is no archive that the site can read."""
UNREADABLE_REASONS = ("fields", "not_json", "id", "author", "date")
POSTS_AT_ONCE = 10
WITH_UNDO = ("posts", "likes", "bookmarks", "accounts")
"""What an import counts and can undo."""


log = structlog.stdlib.get_logger("timelines.archives")


class ImportService(Service):
    """Imports of people, and the handler of the queue `archives`."""

    exports: ExportService
    transfers: Transfers
    posts_import: PostsImport
    imported_posts: ImportedPosts
    reactions_import: ReactionsImport
    lists_import: AccountListsImport
    publishing: PublishingService
    accounts: AccountService
    mail: MailService
    notifications: NotificationService
    files: MediaFiles
    limits: ActionLimits
    site: SiteService
    clock: TimeSource
    post_max_length: int
    archive_keep_ms: int
    slice_s: float = SLICE_S

    # Actions of the person

    async def upload(
        self, account_id: AccountId, file: "File[bytes]", content: ImportContent, base_url: str, language: str,
        caller: Caller | None = None,
    ) -> Transfer:  # fmt: skip
        """Store a file, and start its preview.

        Raises ImportInvalid, TransferUnderWay, TransfersCapReached, RateLimited.
        """
        if content != "posts" and (file.size or 0) > CSV_MAX_BYTES:
            raise ImportInvalid
        async with self.limits.refundable_daily(caller, "imports", IMPORTS_PER_DAY):
            return await self.exports.start(
                account_id, "import", base_url, language, file, (file.name or "")[:100], content
            )

    async def confirm(self, account_id: AccountId, transfer_id: int) -> Transfer:
        """Start the import whose preview was shown. Raises TransferNotFound, TransferUnderWay."""
        return await self._change(account_id, transfer_id, "ready", "importing")

    async def undo(self, account_id: AccountId, transfer_id: int) -> Transfer:
        """Start to delete the posts, or to undo the rows, of an import. Raises TransferNotFound, TransferUnderWay."""
        return await self._change(account_id, transfer_id, "done", "undoing")

    async def discard(self, account_id: AccountId, transfer_id: int) -> None:
        """Delete an import that has not begun, and its file. Raises TransferNotFound if it has begun."""
        transfer = await self.transfers.find(account_id, transfer_id)
        if transfer is None:  # a second click
            return
        if transfer.kind != "import" or not transfer.is_replaceable(self.clock.now_ms()):
            raise TransferNotFound
        if await self.transfers.replace(account_id, transfer, None):  # False if another tab has changed the transfer
            await self.exports.delete(account_id, transfer)

    async def _change(
        self, account_id: AccountId, transfer_id: int, former: TransferState, state: TransferState
    ) -> Transfer:
        """Change the state and add the job. A repetition adds a lost job; a stale page changes nothing.

        Return the transfer after the change.
        """
        transfer, now_ms = await self.exports.find(account_id, transfer_id, "import"), self.clock.now_ms()
        expires_ms = now_ms + self.archive_keep_ms
        changed = structs.replace(transfer, state=state, done=0, offset=0, changed_ms=now_ms, expires_ms=expires_ms)
        may_start = transfer.state == former or (transfer.state == state and not transfer.is_running(now_ms))
        if may_start:
            await self.exports.require_none_running(account_id, "import", transfer_id)
            if await self.transfers.replace(account_id, transfer, changed):
                await self.exports.add_job(account_id, changed)
        return await self.exports.find(account_id, transfer_id, "import")

    # Jobs

    async def handle(self, payload: bytes) -> tuple[bytes, ...]:
        """Continue one transfer. Return the job again if the transfer is not finished. Raises PermanentFailure."""
        job = decode_job(payload)
        token = request_address.set(job.network)
        try:
            return await self._perform(job, payload)
        finally:
            request_address.reset(token)

    async def _perform(self, job: TransferJob, payload: bytes) -> tuple[bytes, ...]:
        transfer = await self.transfers.find(job.account_id, job.transfer_id)
        if transfer is not None and transfer.is_active:
            with postpones_storage_failures():
                if transfer.kind == "export":
                    await self.exports.run(job.account_id, transfer)
                elif not await (self._undo if transfer.state == "undoing" else self._read)(job.account_id, transfer):
                    return (payload,)
            transfer = await self.transfers.find(job.account_id, job.transfer_id)
        if transfer is not None:
            await self._notify(job.account_id, transfer)
        elif (account := await self.accounts.find(job.account_id)) is not None and account.state == DELETED:
            await self.accounts.delete(account_id=job.account_id)  # also posts that this job wrote after the deletion
        return ()

    async def abandon(self, payload: bytes) -> None:
        """End the transfer of a job that failed for good. The recorded part of an import can be undone."""
        try:
            job = decode_job(payload)
        except PermanentFailure:
            return
        transfer = await self.transfers.find(job.account_id, job.transfer_id)
        if transfer is None or not transfer.is_active:
            return
        with postpones_storage_failures():
            if transfer.state == "undoing":
                changed = structs.replace(transfer, state="done", error="failed", changed_ms=self.clock.now_ms())
                await self.transfers.save(job.account_id, changed)
            else:
                tally = Tally(counts=Counter(transfer.counts), refused=Counter(transfer.refused))
                state: TransferState = "done" if transfer.state == "importing" else "failed"
                await self._finish(job.account_id, transfer, tally, state, "failed")
        await self._notify(job.account_id, await self.transfers.find(job.account_id, job.transfer_id) or transfer)

    async def _notify(self, account_id: AccountId, transfer: Transfer) -> None:
        """Tell the account that its archive is ready or its import finished: once, even if the job is repeated."""
        is_export = transfer.kind == "export"
        if transfer.state == ("ready" if is_export else "done"):
            await self.notifications.add(
                {account_id: ARCHIVE if is_export else IMPORT}, account_id, PostId(transfer.id)
            )
            mail_id = f"{transfer.changed_ms:014d}-{transfer.id}"
            await self.mail.notify(account_id, "archive_ready" if is_export else "import_done", mail_id=mail_id)

    async def _read(self, account_id: AccountId, transfer: Transfer) -> bool:
        """Read the file for the preview or the import, for the time of a slice. Return True if it is finished."""
        tally = Tally()
        if transfer.offset:
            tally = Tally(counts=Counter(transfer.counts), refused=Counter(transfer.refused))
        account = await self.accounts.find(account_id)
        may_write = account is None or (account.is_active and account.silenced_until_ms <= self.clock.now_ms())
        if transfer.state == "importing" and not may_write:
            if await self.transfers.last_imported(account_id, transfer.id):  # only an ended import can be undone
                await self._finish(account_id, transfer, tally, "done", "restricted")
            else:
                await self._finish(account_id, transfer, tally, "ready")  # the owner may confirm the import again later
            return True
        read_state: TransferState = "ready" if transfer.state == "running" else "done"
        try:
            with await self.files.open(transfer.file_name(account_id)) as file:
                opened: IO[bytes] = file.file if isinstance(file, File) and file.file is not None else file
                await self._read_slice(account_id, transfer, opened, tally)
        except SliceEnded as ended:
            if ended.number % REACTIONS_OFFSET < IMPORT_ROWS_CAP:
                return False
            await self._finish(account_id, transfer, tally, read_state, "too_large")  # later rows are ignored
            return True
        except (ArchiveUnreadable, FileNotFoundError) as error:
            state: TransferState = "failed" if transfer.state == "running" else "done"  # it can be undone
            await self._finish(account_id, transfer, tally, state, getattr(error, "code", "unreadable"))
            return True
        await self._finish(account_id, transfer, tally, read_state)
        return True

    async def _read_slice(self, account_id: AccountId, transfer: Transfer, file: IO[bytes], tally: Tally) -> None:
        """Read the rows after `offset`. Raises SliceEnded, ArchiveUnreadable, StoreError."""
        now_ms, is_dry, until = self.clock.now_ms(), transfer.state == "running", time.monotonic() + self.slice_s
        current = transfer

        async def progress(number: int) -> None:
            nonlocal current
            is_over, changed_ms = time.monotonic() >= until, self.clock.now_ms()
            if is_over or changed_ms - current.changed_ms >= PROGRESS_INTERVAL_MS:
                done = number if number < REACTIONS_OFFSET else current.done
                current = structs.replace(current, done=done, offset=number, changed_ms=changed_ms, **tally.stored())
                is_over |= not await self.transfers.save(account_id, current)  # False: its account is deleted
            if is_over:
                raise SliceEnded(number)

        async def record(posts: list[ImportedPost]) -> None:
            expires_ms = self.clock.now_ms() + 2 * self.archive_keep_ms  # an undoing may begin in the last minute
            await self.transfers.add_imported(account_id, transfer.id, posts, expires_ms)

        account = await self.accounts.get(account_id)
        caller = worker_caller(account_id, account.created_ms, self.site.settings.newcomer_days, now_ms)
        if transfer.content != "posts":
            await self.lists_import.run(
                account_id, transfer, file, tally, now_ms, caller=caller, progress=progress, record=record
            )
            return
        archive = await asyncio.to_thread(open_archive, file, account.handle, transfer.base_url)
        options = PostsOptions(
            await self._rules(account_id, now_ms), dry_run=is_dry, owner_id=account_id, caller=caller,
            base_url=transfer.base_url, record=record,
        )  # fmt: skip
        if transfer.offset < REACTIONS_OFFSET:
            tally.on_refused = lambda number, _reason: _check_refused(number, tally, until)
            await self.posts_import.run(archive, options, tally, now_ms, offset=transfer.offset, progress=progress)
            tally.on_refused = Tally().on_refused
        if isinstance(archive, AccountArchive):
            await self.reactions_import.run(
                account_id, archive.marked_posts(), transfer.base_url, tally, ms_from_id(PostId(transfer.id)),
                dry_run=is_dry, offset=max(0, transfer.offset - REACTIONS_OFFSET),
                progress=lambda number: progress(REACTIONS_OFFSET + number), record=record,
            )  # fmt: skip

    async def _rules(self, account_id: AccountId, now_ms: int) -> RowRules:
        """Return the rules for imported posts of an account: the rules of the site for new posts."""
        find_reason = self.publishing.blocked.find_reason
        holds_links = await self.publishing.first_links.holds_links_of(account_id)
        return RowRules(
            max_graphemes=self.post_max_length, latest_ms=now_ms, scope=f"{account_id} ",
            refuses=lambda text: bool(find_reason(text)) or (holds_links and has_links(text)),
        )  # fmt: skip

    async def _finish(
        self, account_id: AccountId, transfer: Transfer, tally: Tally, state: TransferState, error: str = ""
    ) -> None:
        """Store the result. The file of an import that has ended is deleted."""
        now_ms, counts = self.clock.now_ms(), dict(tally.counts)
        if state == "done" and transfer.content == "posts":
            # An interrupted try has written posts that the repetition found: count what is recorded.
            imported = await self.transfers.count_imported(account_id, transfer.id)
            rows = sum(counts.get(kind, 0) for kind in (*WITH_UNDO, "standing"))
            counts |= {"posts": 0, **imported, "standing": max(0, rows - imported.total())}
        changed = structs.replace(
            transfer, state=state, error=error, changed_ms=now_ms, expires_ms=now_ms + self.archive_keep_ms,
            **tally.stored() | {"counts": counts},
            total=sum(tally.refused.values()) + sum(counts.get(kind, 0) for kind in WITH_UNDO),
        )  # fmt: skip
        await self.transfers.save(account_id, changed)
        if state != "ready":
            await self.files.delete([transfer.file_name(account_id)])
        log.info("import_read", account=account_id, state=state, error=error, **counts)

    async def _undo(self, account_id: AccountId, transfer: Transfer) -> bool:
        """Undo the writes of an import, the last first, for the time of a slice. Return True if it is finished."""
        until = time.monotonic() + self.slice_s
        while posts := await self.transfers.last_imported(account_id, transfer.id):
            for start in range(0, len(posts), POSTS_AT_ONCE):
                batch = posts[start : start + POSTS_AT_ONCE]
                await run_together(*(self._delete(account_id, transfer.content, *each) for each in batch))
            await self.imported_posts.forget_sources(digest for digest, _ in posts)
            await self.transfers.drop_last_imported(account_id, transfer.id)
            transfer = structs.replace(transfer, done=transfer.done + len(posts), changed_ms=self.clock.now_ms())
            await self.transfers.save(account_id, transfer)
            if time.monotonic() >= until:
                return False
        await self.transfers.save(account_id, structs.replace(transfer, state="undone", changed_ms=self.clock.now_ms()))
        return True

    async def _delete(self, account_id: AccountId, content: ImportContent, source: str, post_id: PostId) -> Any:
        if content != "posts":
            return await self.lists_import.remove(account_id, content, ListId(int(source, 16)), AccountId(post_id))
        if source in (LIKE, BOOKMARK):
            return await self.reactions_import.remove(account_id, source, post_id)
        try:
            await self.publishing.delete(account_id=account_id, post_id=post_id)
        except PostNotFound:  # its import was interrupted before it was written
            return None


def open_archive(file: IO[bytes], handle: str, base_url: str = "") -> AccountArchive | BlueskyArchive:
    """Open an archive of a known kind, whose posts the account of this handle gets. Raises ArchiveUnreadable."""
    return BlueskyArchive(file, handle) if is_car(file) else AccountArchive(file, handle, base_url)


def _check_refused(number: int, tally: Tally, until: float) -> None:
    """Raise ArchiveUnreadable if all first rows are unreadable, or SliceEnded above the limits of rows and time."""
    if number == UNREADABLE_ROWS_MAX == sum(tally.refused[each] for each in UNREADABLE_REASONS):
        raise ArchiveUnreadable("unknown_format")
    if number >= IMPORT_ROWS_CAP or time.monotonic() >= until:
        raise SliceEnded(number)
