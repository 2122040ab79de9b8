"""The audit in the background: each worker periodically audits a small sample and counts the damage.

It repairs nothing, because damage is the result of a defect, which an operator must be able to examine.
"""

import asyncio
import random
from collections.abc import Mapping

import structlog

from socialsite.store import Repository, StoreError
from timelines import keys
from timelines.audit.audit import Audit, AuditReport
from timelines.audit.context import AuditContext

INTERVAL_S = 30.0
KEYS_PER_SAMPLE = 40
SECOND_CHECK_AFTER_S = 10.0

log = structlog.stdlib.get_logger("timelines.audit")


class DamageCounts(Repository):
    """The hash `jobs:{audit}:drift`: damage that the last whole audit left, and damage that samples found since.

    The logs of the workers contain the damaged keys.
    """

    async def add(self, damage: Mapping[str, int]) -> None:
        key = keys.repair_log()
        await self._jobs[key].execute_all([("HINCRBY", key, kind, count) for kind, count in damage.items()])

    async def replace(self, damage: Mapping[str, int]) -> None:
        key = keys.repair_log()
        await self._jobs[key].execute_all([("DEL", key), *(("HSET", key, kind, n) for kind, n in damage.items())])

    async def read(self) -> dict[str, int]:
        reply = await self._jobs[keys.repair_log()].execute("HGETALL", keys.repair_log())
        return {kind.decode(): int(count) for kind, count in zip(reply[::2], reply[1::2], strict=True)}


class AuditSampler:
    """Logs `audit_drift` for each damaged key, and counts each kind in the store."""

    def __init__(
        self, context: AuditContext, *, keys: int = KEYS_PER_SAMPLE, second_check_after_s: float = SECOND_CHECK_AFTER_S
    ) -> None:
        self._context = context
        self._counts = DamageCounts(context.store)
        self._keys = keys
        self._pause_s = second_check_after_s

    async def run(self) -> None:
        """Run until cancelled. The pauses are random, so that the workers do not sample at the same time."""
        while True:
            await asyncio.sleep(INTERVAL_S * random.uniform(0.5, 1.5))  # noqa: S311 - not a secret
            try:
                await self.audit_sample()
            except StoreError as error:
                log.warning("audit_waits_for_store", error=str(error))

    async def audit_sample(self) -> AuditReport:
        report = await Audit(self._context, second_check_after_s=self._pause_s).run(sample=self._keys)
        for discrepancy in report.discrepancies:
            if discrepancy.is_damage:
                log.error("audit_drift", kind=discrepancy.kind, key=str(discrepancy.key), detail=discrepancy.detail)
        if report.damage:
            await self._counts.add(report.damage)
        return report
