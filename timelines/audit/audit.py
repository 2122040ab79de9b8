"""One run of the audit: walk or sample the keys, check them, check the suspects again, and repair them."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from socialsite.concurrency import run_together
from socialsite.ids import PostId
from socialsite.maintenance.key_families import is_disposable
from socialsite.maintenance.scanning import OnProgress, count_keys, ignore_progress, sample_keys, scan_raw_keys
from socialsite.store import CommandRefused, Key
from timelines import keys
from timelines.audit.account_keys import owned_keys
from timelines.audit.context import AuditContext
from timelines.audit.discrepancy import Discrepancy
from timelines.audit.key_checks import FamilyCheck, FamilyChecks
from timelines.audit.reader import AuditReader
from timelines.audit.unknown_keys import ForeignKeys
from timelines.audit.wrong_types import NO_TYPE

SECOND_CHECK_AFTER_S = 2.0
SUSPECTS_PER_CHECK = 2_000
MAX_DISCREPANCIES = 1_000  # further discrepancies are only counted
KEYS_PER_SAMPLED_ACCOUNT = 10
POST_KEY = re.compile(r"posts:\{\d+\}:post")
UNREADABLE = (CommandRefused, ValueError)
"""The errors that a check raises if a key has a wrong type or a member that is no number."""

log = structlog.stdlib.get_logger("timelines.audit")


@dataclass(slots=True)
class AuditReport:
    """The result of an audit: discrepancies by kind, and the first MAX_DISCREPANCIES of them.

    `is_whole` is False for a sample. `left` counts the damage that was not repaired. `for_a_walk` counts the part of
    `left` that only an audit of the whole store can repair.
    """

    is_whole: bool = True
    keys: int = 0
    damage: Counter[str] = field(default_factory=Counter)
    leftovers: Counter[str] = field(default_factory=Counter)
    repaired: int = 0
    left: int = 0
    for_a_walk: int = 0
    discrepancies: list[Discrepancy] = field(default_factory=list)
    foreign_keys: ForeignKeys = field(default_factory=ForeignKeys)

    def add(self, confirmed: Sequence[Discrepancy]) -> None:
        for discrepancy in confirmed:
            (self.damage if discrepancy.is_damage else self.leftovers)[discrepancy.kind] += 1
        self.discrepancies += confirmed[: MAX_DISCREPANCIES - len(self.discrepancies)]


class Audit:
    """Runs audits, one at a time. If `with_files` is false, no file is looked for or deleted."""

    def __init__(
        self, context: AuditContext, *, second_check_after_s: float = SECOND_CHECK_AFTER_S, with_files: bool = True
    ) -> None:
        self._context = context
        self._checks = FamilyChecks(context)
        self._with_files = with_files
        for checks in self._checks.file_checks:
            checks.with_files = with_files
        self._pause_s = second_check_after_s

    async def run(
        self,
        *,
        sample: int | None = None,
        repair: bool = False,
        drop_foreign: bool = False,
        on_progress: OnProgress = ignore_progress,
    ) -> AuditReport:
        """Audit all keys, or a sample: about `sample` random keys, and all keys of `sample / 10` random accounts.

        If the site has no more keys than the sample, all keys are audited. Only a whole audit reports foreign keys,
        and deletes them if `drop_foreign` is true.
        """
        is_whole = sample is None or await count_keys(self._context.store) <= sample
        report = AuditReport(is_whole, foreign_keys=ForeignKeys(drop_foreign))
        suspects, reader = list[Discrepancy](), AuditReader(self._context)
        async for batch in self._walk(None if is_whole else sample, report.foreign_keys, on_progress):
            report.keys += len(batch)
            self._checks.add_met_posts(PostId(int(key.tag)) for key in batch if POST_KEY.fullmatch(key))
            suspects += await self._check(reader, batch)
            if len(suspects) >= SUSPECTS_PER_CHECK:
                await self._confirm(suspects, report, repair=repair)
                suspects, reader = [], AuditReader(self._context)
        suspects += await self._check(AuditReader(self._context), [keys.public_timeline()])
        for checks in self._checks.file_checks if is_whole and self._with_files else ():
            async for batch in checks.keys_of_files():
                suspects += await self._check(AuditReader(self._context), batch)
        await self._confirm(suspects, report, repair=repair)
        return report

    async def run_again(self, before: AuditReport) -> AuditReport:
        """Check, after a whole audit with repairs, only the keys that it reported and the public timeline, and repair.

        The check of a post covers all sets that must contain it, so this also finds what a repair left to another set.
        Nobody else may write meanwhile.
        """
        report = AuditReport(before.is_whole, before.keys)
        checked = [*(discrepancy.key for discrepancy in before.discrepancies), keys.public_timeline()]
        await self._confirm(await self._check(AuditReader(self._context), checked), report, repair=True)
        return report

    async def _walk(
        self, sample: int | None, foreign_keys: ForeignKeys, on_progress: OnProgress
    ) -> AsyncIterator[list[Key]]:
        if sample is None:
            for node in self._context.store.nodes:
                async for raw_keys in scan_raw_keys(node, on_progress):
                    yield await foreign_keys.filter(node, raw_keys)
            return
        async for batch in sample_keys(self._context.store, sample, on_progress):
            yield batch
        last_id, config = await self._context.accounts.last_id(), self._context.config
        for _ in range(min(last_id, sample // KEYS_PER_SAMPLED_ACCOUNT)):
            account_id = random.randint(1, last_id)  # noqa: S311 - not a secret
            owned = owned_keys(account_id, config.follow_partitions, config.profile_partitions)
            # The first key is that of the account. If it is absent, only the existing keys are checked: perhaps no
            # account has this id.
            exist = await self._context.store.execute_all([("EXISTS", key) for key in owned])
            yield [key for key, exists in zip(owned, exist, strict=True) if exists or exist[0]]

    async def _check(self, reader: AuditReader, checked: Sequence[Key]) -> list[Discrepancy]:
        """Check keys. The client compares the replies for one family while the servers read those for another."""
        groups = self._checks.group(checked).items()
        discrepancies = await run_together(
            *(self._check_family(reader, check, family_keys) for check, family_keys in groups)
        )
        return [found for some in discrepancies for found in some]

    async def _check_family(
        self, reader: AuditReader, check: FamilyCheck, family_keys: Sequence[Key]
    ) -> list[Discrepancy]:
        try:
            return [found async for found in check.check(reader, family_keys)]
        except UNREADABLE:
            return [found for key in family_keys for found in await self._check_alone(reader, check, key)]

    async def _check_alone(self, reader: AuditReader, check: FamilyCheck, key: Key) -> list[Discrepancy]:
        """Check one key. Return a discrepancy if the key has a wrong type or is unreadable.

        If another key that the check reads has a wrong type, the discrepancy is reported for that key.
        """
        try:
            return [found async for found in check.check(reader, [key])]
        except UNREADABLE as error:
            actual_type = await self._checks.types.read_type(key)
            right_type = check.family.redis_type
            if actual_type not in (right_type, NO_TYPE):
                return [self._checks.types.discrepancy(key, right_type, actual_type)]
            delete = partial(self._context.store.execute_all, [("UNLINK", key)]) if is_disposable(key) else None
            is_there = actual_type == right_type
            return [Discrepancy("key_unreadable", key, str(error)[:60], delete)] if is_there else []

    async def _confirm(self, suspects: Sequence[Discrepancy], report: AuditReport, *, repair: bool) -> None:
        """Check the suspects a second time. Report and repair the discrepancies that are found again."""
        if not suspects:
            return
        await asyncio.sleep(self._pause_s)
        again = await self._check(AuditReader(self._context), [suspect.key for suspect in suspects])
        suspected = set(suspects)
        confirmed = [discrepancy for discrepancy in dict.fromkeys(again) if discrepancy in suspected]
        report.add(confirmed)
        for discrepancy in confirmed:
            needs_walk = discrepancy.needs_walk and not report.is_whole
            is_repaired = repair and not needs_walk and await try_repair(discrepancy)
            report.repaired += is_repaired
            report.left += discrepancy.is_damage and not is_repaired
            report.for_a_walk += needs_walk


async def try_repair(discrepancy: Discrepancy) -> bool:
    """Run the repair. Return False if there is no repair, or if the store refuses it."""
    if discrepancy.repair is None:
        return False
    try:
        await discrepancy.repair()
    except CommandRefused as refusal:
        log.error("repair_refused", finding=str(discrepancy), reason=str(refusal))
        return False
    log.info("repaired", finding=str(discrepancy))
    return True
