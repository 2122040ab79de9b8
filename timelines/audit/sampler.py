"""The audit in the background: each worker looks at a little all the time and says what it finds.

It repairs nothing: drift is a defect's trace, and an operator shall see it before it is gone.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Self

import structlog

from socialsite.store import StoreError
from timelines.audit.audit import Audit, AuditReport
from timelines.audit.repair_log import AuditDrift
from timelines.audit.repairs import Places

EVERY_S = 30.0
KEYS_AT_ONCE = 40
SECOND_LOOK_AFTER_S = 10.0

log = structlog.stdlib.get_logger("timelines.audit")


class AuditSampler:
    """A log line `repair_log` for each finding, and a count of each kind in the store."""

    def __init__(
        self,
        audit: Callable[[], Audit],
        drift: AuditDrift,
        *,
        every_s: float = EVERY_S,
        keys: int = KEYS_AT_ONCE,
    ) -> None:
        self._audit = audit
        self._drift = drift
        self._every_s = every_s
        self._keys = keys

    @classmethod
    def over(cls, places: Places) -> Self:
        return cls(lambda: Audit(places, second_look_after_s=SECOND_LOOK_AFTER_S), AuditDrift(places.store))

    async def run(self) -> None:
        """For ever; whoever starts this owns and cancels it. Pauses vary, so that workers take turns."""
        while True:
            await asyncio.sleep(self._every_s * random.uniform(0.5, 1.5))  # noqa: S311 - not a secret
            try:
                await self.look()
            except StoreError as error:
                log.warning("audit_waits_for_store", error=str(error))

    async def look(self) -> AuditReport:
        """One sample."""
        report = await self._audit().run(sample=self._keys)
        for finding in report.findings:
            if finding.is_damage:
                log.error("audit_drift", kind=finding.kind, key=str(finding.key), detail=finding.detail)
        if report.damage:
            await self._drift.note(report.damage)
        return report
