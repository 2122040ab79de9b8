"""Exports of accounts: requests, jobs, downloads, and the deletion of old files."""

import secrets
from collections.abc import AsyncIterator

import structlog
from django.core.files.base import File
from msgspec import structs

from accounts.accounts.service import AccountService
from socialsite.ids import AccountId, PostIdGenerator, TimeSource
from socialsite.limits import ActionLimits, Caller, request_address
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.recipes.rate_limit import Identifier
from socialsite.service import Service
from timelines.errors import TransferNotFound, TransferUnderWay
from timelines.exporting.archive import ArchiveSources, ArchiveWriter
from timelines.exporting.repository import Transfers
from timelines.exporting.transfer import (
    FILE_NAME,
    FOLDER,
    ImportContent,
    Transfer,
    TransferJob,
    TransferKind,
    encode_job,
)
from timelines.media.service import MediaService
from timelines.media.storage import MediaFiles

EXPORTS_PER_DAY = 10
SWEEP_INTERVAL_S = 300.0
PROGRESS_INTERVAL_MS = 1_000
log = structlog.stdlib.get_logger("timelines.archives")


class ExportService(Service):
    """Writes the archives of accounts, and keeps the transfers of both directions."""

    transfers: Transfers
    jobs: JobQueue
    export_jobs: JobQueue
    sources: ArchiveSources
    media: MediaService
    files: MediaFiles
    accounts: AccountService
    ids: PostIdGenerator
    limits: ActionLimits
    clock: TimeSource
    archive_keep_ms: int

    # Transfers of both directions

    async def all(self, account_id: AccountId, kind: TransferKind) -> list[Transfer]:
        """Return the transfers of one direction that have not expired, the newest first."""
        now_ms = self.clock.now_ms()
        transfers = await self.transfers.all(account_id)
        return [each for each in transfers if each.kind == kind and each.expires_ms > now_ms]

    async def find(self, account_id: AccountId, transfer_id: int, kind: TransferKind) -> Transfer:
        """Return a transfer of the account. Raises TransferNotFound."""
        for transfer in await self.all(account_id, kind):
            if transfer.id == transfer_id:
                return transfer
        raise TransferNotFound

    async def require_none_running(self, account_id: AccountId, kind: TransferKind, except_id: int = 0) -> None:
        """Raise TransferUnderWay if another transfer of this direction is running."""
        now_ms = self.clock.now_ms()
        if any(each.is_running(now_ms) for each in await self.all(account_id, kind) if each.id != except_id):
            raise TransferUnderWay

    async def start(
        self, account_id: AccountId, kind: TransferKind, base_url: str, language: str,
        file: "File[bytes] | None" = None, title: str = "",
        content: ImportContent = "posts",
    ) -> Transfer:  # fmt: skip
        """Store a transfer, its file if it has one, and its job. Raises TransferUnderWay, TransfersCapReached.

        It replaces the last export, or an import of this content that has not begun, so that an account stores few
        files.
        """
        await self.media.require_shared_folder()
        await self.require_none_running(account_id, kind)
        now_ms = self.clock.now_ms()
        for old in await self.transfers.all(account_id):
            is_replaced = (old.kind, old.content) == (kind, content) and old.is_replaceable(now_ms)
            if is_replaced or old.expires_ms <= now_ms:
                await self.delete(account_id, old)
        transfer = Transfer(
            self.ids.next_id(), kind, secrets.token_hex(16), "running", now_ms, now_ms + self.archive_keep_ms,
            base_url, language, title=title, content=content,
        )  # fmt: skip
        await self.transfers.start(account_id, transfer)
        try:
            if file is not None:
                await self.files.save(transfer.file_name(account_id), file)
            await self.add_job(account_id, transfer)
        except BaseException:  # also for a cancelled request, because another upload may follow immediately
            await self.delete(account_id, transfer)
            raise
        return transfer

    async def add_job(self, account_id: AccountId, transfer: Transfer) -> None:
        jobs = self.export_jobs if transfer.kind == "export" else self.jobs
        network = Identifier.address(address).tag if (address := request_address.get()) else ""
        await jobs.add(encode_job(TransferJob(account_id, transfer.id, network)), sender=account_id)

    async def delete(self, account_id: AccountId, transfer: Transfer) -> None:
        """Delete the file of a transfer, then the transfer."""
        await self.files.delete([transfer.file_name(account_id)])
        await self.transfers.delete(account_id, transfer.id)

    async def delete_all(self, account_id: AccountId) -> None:
        """Delete all transfers of a deleted account, with their files."""
        for transfer in await self.transfers.all(account_id):
            await self.delete(account_id, transfer)

    async def sweep(self) -> None:
        """Delete the files that belong to no transfer, or to an expired transfer."""
        now_ms, orphans = self.clock.now_ms(), []
        for name in await self.files.list_names(f"{FOLDER}/"):
            match = FILE_NAME.fullmatch(name.removeprefix(f"{FOLDER}/"))
            owner_id = AccountId(int(match[1])) if match else AccountId(0)
            transfer = await self.transfers.find(owner_id, int(match[2])) if match else None
            if transfer is None or transfer.file_name(owner_id) != name or transfer.expires_ms <= now_ms:
                orphans.append(name)
        await self.files.delete(orphans)

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        return (PeriodicTask("sweep", SWEEP_INTERVAL_S, self.sweep),)

    # Exports

    async def request(
        self, account_id: AccountId, base_url: str, language: str, caller: Caller | None = None
    ) -> Transfer:
        """Start an export, which replaces the last one, or return the export that is running. Raises RateLimited."""
        try:
            async with self.limits.refundable_daily(caller, "exports", EXPORTS_PER_DAY):
                return await self.start(account_id, "export", base_url, language)
        except TransferUnderWay:
            return (await self.all(account_id, "export"))[0]

    async def run(self, account_id: AccountId, export: Transfer) -> None:
        """Write the archive of an account. A repetition writes it again. Raises StoreError, OSError."""

        account, current = await self.accounts.get(account_id), export

        async def store_progress(done: int, total: int) -> None:
            nonlocal current
            if (now_ms := self.clock.now_ms()) - current.changed_ms >= PROGRESS_INTERVAL_MS:
                current = structs.replace(current, done=done, total=total, changed_ms=now_ms)
                await self.transfers.save(account_id, current)

        async with self.files.new_file() as file:
            await ArchiveWriter(self.sources, account, export, store_progress).write(file)
            size_bytes = file.measure()
            await self.files.save(export.file_name(account_id), file)
        now_ms = self.clock.now_ms()
        ready = structs.replace(
            current, state="ready", size_bytes=size_bytes, changed_ms=now_ms, expires_ms=now_ms + self.archive_keep_ms
        )
        if not await self.transfers.save(account_id, ready):  # deleted meanwhile
            await self.files.delete([export.file_name(account_id)])
        log.info("archive_ready", account=account_id, bytes=size_bytes)

    async def open(self, account_id: AccountId, export: Transfer) -> AsyncIterator[bytes]:
        """Open the file of an export that is ready. Raises TransferNotFound."""
        if export.state != "ready":
            raise TransferNotFound
        try:
            return self.files.read_chunks(await self.files.open(export.file_name(account_id)))
        except FileNotFoundError as error:
            raise TransferNotFound from error
