"""After a restore: the caches that no reader rebuilds, and what changed while the backup was made."""

from accounts.accounts.repository import AccountRepository
from socialsite.ids import AccountId
from socialsite.maintenance.scanning import OnProgress, ignore_progress
from timelines.audit import Audit, AuditReport
from timelines.audit.repairs import Places
from timelines.fanout.rebuilding import RebuildService

MOST_ROUNDS = 4
QUIET_S = 0.05
"""Between two looks: nobody else is at work."""


class Recovering:
    def __init__(self, *, accounts: AccountRepository, rebuilding: RebuildService, places: Places) -> None:
        self._accounts = accounts
        self._rebuilding = rebuilding
        self._places = places

    async def recover(self, on_step: OnProgress = ignore_progress) -> AuditReport:
        """The report of the last audit, which is clean unless something could not be mended."""
        ids = [AccountId(n) for n in range(1, await self._accounts.last_id() + 1)]
        await self._rebuilding.rebuild_public(ids)
        for account_id in ids:
            await self._rebuilding.rebuild_tags(account_id)
            await self._rebuilding.rebuild_search(account_id)
        report = AuditReport()
        for _ in range(MOST_ROUNDS):
            audit = Audit(self._places, second_look_after_s=QUIET_S)
            report = await audit.run(repair=True, on_step=on_step)
            if not report.findings:
                break
        return report
