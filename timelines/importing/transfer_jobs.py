"""Performs the jobs of the queue `archives`: exports and imports of accounts."""

from dataclasses import dataclass

import msgspec

from socialsite.recipes.job_queue import PermanentFailure
from timelines.exporting.repository import Transfers
from timelines.exporting.service import ExportService
from timelines.exporting.transfer import decode_job


@dataclass(kw_only=True, slots=True)
class TransferJobs:
    transfers: Transfers
    exports: ExportService

    async def handle(self, payload: bytes) -> tuple[bytes, ...]:
        """Continue one transfer. Return the job that continues it further. Raises PermanentFailure."""
        try:
            job = decode_job(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise PermanentFailure(f"not a job of this release: {error}") from error
        transfer = await self.transfers.find(job.account_id, job.transfer_id)
        if transfer is None or not transfer.is_active:  # deleted or finished by an earlier try
            return ()
        await self.exports.run(job.account_id, transfer)
        return ()
