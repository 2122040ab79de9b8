"""The audit's way through the store: walk or sample, suspect, look again, repair."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from socialsite.ids import PostId
from socialsite.maintenance.families import is_disposable
from socialsite.maintenance.scanning import (
    OnProgress,
    count_keys,
    ignore_progress,
    sample_keys,
    scan_raw_keys,
)
from socialsite.store import CommandRefused, Key
from timelines import keys
from timelines.audit.account_keys import owned_keys
from timelines.audit.discrepancy import Check, Finding
from timelines.audit.families import Families
from timelines.audit.profiles import PublicChecks
from timelines.audit.reader import Looking
from timelines.audit.repairs import Places
from timelines.audit.types import NO_TYPE
from timelines.audit.unknown_keys import Strays

SECOND_LOOK_AFTER_S = 2.0
SUSPICIONS_AT_ONCE = 2_000
NAMED_FINDINGS = 1_000  # of those beyond only the number is kept
KEYS_PER_ACCOUNT_SAMPLED = 10
POST = re.compile(r"posts:\{\d+\}:post")
UNREADABLE = (CommandRefused, ValueError)
"""A key of another type, a member that is no number: here, or where a check looked beside."""

log = structlog.stdlib.get_logger("timelines.audit")


@dataclass(slots=True)
class AuditReport:
    """What an audit found: by kind, and the first NAMED_FINDINGS themselves. `strays` are no damage.

    `is_whole`: it walked over everything. `left` is damage that was not repaired; `for_a_walk` of it waits
    for an audit that is whole.
    """

    is_whole: bool = True
    keys: int = 0
    damage: Counter[str] = field(default_factory=Counter)
    leftovers: Counter[str] = field(default_factory=Counter)
    repaired: int = 0
    left: int = 0
    for_a_walk: int = 0
    findings: list[Finding] = field(default_factory=list)
    strays: Strays = field(default_factory=Strays)

    def add(self, found: Sequence[Finding]) -> None:
        for finding in found:
            (self.damage if finding.is_damage else self.leftovers)[finding.kind] += 1
        self.findings += found[: NAMED_FINDINGS - len(self.findings)]


class Audit:
    """For one run at a time."""

    def __init__(self, places: Places, *, second_look_after_s: float = SECOND_LOOK_AFTER_S) -> None:
        self._places = places
        self._public = PublicChecks(places)
        self._families = Families(places, self._public)
        self._pause_s = second_look_after_s

    async def run(
        self,
        *,
        sample: int | None = None,
        repair: bool = False,
        drop_strays: bool = False,
        on_step: OnProgress = ignore_progress,
    ) -> AuditReport:
        """Everything, or about `sample` keys and a tenth as many accounts with all that is theirs. A sample
        that is not smaller than the site is all of it.

        Keys that are none of the site's are told by a walk over everything; `drop_strays` deletes them.
        """
        is_whole = sample is None or await count_keys(self._places.store) <= sample
        report = AuditReport(is_whole, strays=Strays(drop_strays))
        suspects, look = list[Finding](), self._look()
        async for found in self._walk(None if is_whole else sample, report.strays, on_step):
            report.keys += len(found)
            self._public.met(PostId(int(key.tag)) for key in found if POST.fullmatch(key))
            suspects += await self._checked(look, found)
            if len(suspects) >= SUSPICIONS_AT_ONCE:
                await self._settle(suspects, report, repair=repair)
                suspects, look = [], self._look()
        suspects += await self._checked(self._look(), [keys.public_timeline()])
        await self._settle(suspects, report, repair=repair)
        return report

    async def _walk(self, sample: int | None, strays: Strays, on_step: OnProgress) -> AsyncIterator[list[Key]]:
        if sample is None:
            for node in self._places.store.nodes:
                async for met in scan_raw_keys(node, on_step):
                    yield await strays.parted(node, met)
            return
        async for found in sample_keys(self._places.store, sample, on_step):
            yield found
        last, config = await self._places.accounts.last_id(), self._places.config
        for _ in range(min(last, sample // KEYS_PER_ACCOUNT_SAMPLED)):
            account_id = random.randint(1, last)  # noqa: S311 - not a secret
            yield owned_keys(account_id, config.follow_partitions, config.profile_partitions)

    def _look(self) -> Looking:
        return Looking(self._places.store, self._places.outbox, self._places.posts)

    async def _checked(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        findings: list[Finding] = []
        for check, some in self._families.sorted(found).items():
            try:
                findings += await check(look, some)
            except UNREADABLE:
                for key in some:
                    findings += await self._alone(check, look, key)
        return findings

    async def _alone(self, check: Check, look: Looking, key: Key) -> list[Finding]:
        try:
            return await check(look, [key])
        except UNREADABLE as error:
            return await self._unreadable(key, str(error))

    async def _unreadable(self, key: Key, error: str) -> list[Finding]:
        """Its own fault, or that of what the check looked at beside: that has its own finding."""
        right, kind = self._families.type_of(key), await self._families.types.of(key)
        if kind not in (right, NO_TYPE):
            return [self._families.types.wrong(key, right, kind)]
        repair = partial(self._places.store.gather, [("UNLINK", key)]) if is_disposable(key) else None
        return [Finding("key_unreadable", key, error[:60], repair)] if kind == right else []

    async def _settle(self, suspects: Sequence[Finding], report: AuditReport, *, repair: bool) -> None:
        """The second look: what it finds again is so."""
        if not suspects:
            return
        await asyncio.sleep(self._pause_s)
        seen = {(finding.kind, finding.key, finding.detail) for finding in suspects}
        again = await self._checked(self._look(), [finding.key for finding in suspects])
        confirmed = [f for f in dict.fromkeys(again) if (f.kind, f.key, f.detail) in seen]
        report.add(confirmed)
        for finding in confirmed:
            waits = finding.needs_walk and not report.is_whole
            is_mended = repair and not waits and await repaired(finding)
            report.repaired += is_mended
            report.left += finding.is_damage and not is_mended
            report.for_a_walk += waits


async def repaired(finding: Finding) -> bool:
    """False where nothing can be done, or the store refuses it."""
    if finding.repair is None:
        return False
    try:
        await finding.repair()
    except CommandRefused as refusal:
        log.error("repair_refused", finding=str(finding), reason=str(refusal))
        return False
    log.info("repaired", finding=str(finding))
    return True
