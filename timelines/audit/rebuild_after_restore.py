"""Rebuilds caches after a restore, and repairs values that changed during the backup.

Readers rebuild other caches themselves.
"""

from socialsite.ids import AccountId
from socialsite.maintenance.scanning import OnProgress, ignore_progress
from socialsite.service import Part
from timelines.audit.audit import MAX_DISCREPANCIES, Audit, AuditReport
from timelines.audit.context import AuditContext
from timelines.fanout.rebuild_timelines import RebuildService

MAX_REPEATS = 3
SECOND_CHECK_AFTER_S = 0.05  # the site does not run during a restore


class RebuildAfterRestore(Part):
    context: AuditContext
    rebuilding: RebuildService

    async def run(self, on_progress: OnProgress = ignore_progress) -> AuditReport:
        """Rebuild, audit everything and repair. Return what is found after the repairs: nothing, unless one failed.

        Files of pictures are not touched, because those without a row may belong to a running site.
        """
        ids = [AccountId(number) for number in range(1, await self.context.accounts.last_id() + 1)]
        await self.rebuilding.rebuild_public(ids)
        await self.rebuilding.rebuild_tags(ids)
        await self.rebuilding.rebuild_search(ids)
        audit, report = await self._audit(on_progress)
        for _ in range(MAX_REPEATS):
            if not report.discrepancies:
                break
            if len(report.discrepancies) == MAX_DISCREPANCIES:  # there may be more than are listed
                audit, report = await self._audit(on_progress)
            else:
                report = await audit.run_again(report)
        return report

    async def _audit(self, on_progress: OnProgress) -> tuple[Audit, AuditReport]:
        audit = Audit(self.context, second_check_after_s=SECOND_CHECK_AFTER_S, with_files=False)
        return audit, await audit.run(repair=True, on_progress=on_progress)
