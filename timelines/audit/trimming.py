"""Applies every cap, and removes leftovers of expiry and crashes (`manage.py trim`).

Writers apply the caps themselves, so trimming is needed only after a cap was lowered. Leftovers are harmless but take
memory. A leftover is removed only if a second check finds it again.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence

from socialsite.maintenance.scanning import OnProgress, ignore_progress, scan_store
from socialsite.recipes.job_queue import MAX_DEAD_LETTERS
from socialsite.store import Command, Key
from timelines.audit.context import AuditContext
from timelines.audit.discrepancy import Discrepancy
from timelines.audit.key_checks import FamilyChecks
from timelines.audit.reader import AuditReader
from timelines.cached_timelines.delivery import trim_command

SECOND_CHECK_AFTER_S = 1.0


class Trimming:
    def __init__(self, context: AuditContext, *, second_check_after_s: float = SECOND_CHECK_AFTER_S) -> None:
        self._context = context
        self._checks = FamilyChecks(context)
        self._pause_s = second_check_after_s

    async def trim(self, on_progress: OnProgress = ignore_progress, *, dry_run: bool = False) -> Counter[str]:
        """Remove leftovers and entries above the caps; with `dry_run`, only count them. Returns the numbers by kind."""
        removed: Counter[str] = Counter()
        leftovers: list[Discrepancy] = []
        async for batch in scan_store(self._context.store, on_progress):
            for check, family_keys in self._checks.group(batch).items():
                if check.family.trimmed_as:
                    cap, is_list = check.cap(self._context.config), check.family.redis_type == "list"
                    cut = await self._cut(family_keys, cap, is_list=is_list, dry_run=dry_run)
                    removed[check.family.trimmed_as] += cut
            leftovers += await self._find_leftovers(batch)
        for leftover in await self._confirm(leftovers):
            removed[leftover.kind] += 1
            if not dry_run and leftover.repair is not None:
                await leftover.repair()
        removed["dead_letters"] += await self._cut_dead_letters(dry_run=dry_run)
        return +removed

    async def _cut(self, capped: Sequence[Key], cap: int, *, is_list: bool, dry_run: bool) -> int:
        """Trim sorted sets to their newest `cap` entries. Lists (cached timelines) also keep their floor."""
        sizes = await self._context.store.execute_all([("LLEN" if is_list else "ZCARD", key) for key in capped])
        excess = {key: size - cap - is_list for key, size in zip(capped, sizes, strict=True) if size > cap + is_list}
        cuts: list[Command] = [
            trim_command(key, cap) if is_list else ("ZREMRANGEBYRANK", key, 0, -cap - 1) for key in excess
        ]
        if not dry_run:
            await self._context.store.execute_all(cuts)
        return sum(excess.values())

    async def _find_leftovers(self, checked: Sequence[Key]) -> list[Discrepancy]:
        reader, groups = AuditReader(self._context), self._checks.group(checked)
        runs = [check.check(reader, family_keys) for check, family_keys in groups.items() if check.leaves_leftovers]
        return [found for run in runs async for found in run if not found.is_damage]

    async def _confirm(self, leftovers: Sequence[Discrepancy]) -> list[Discrepancy]:
        if not leftovers:
            return []
        await asyncio.sleep(self._pause_s)
        again = await self._find_leftovers([leftover.key for leftover in leftovers])
        return [leftover for leftover in again if leftover in leftovers]

    async def _cut_dead_letters(self, *, dry_run: bool) -> int:
        key = self._context.outbox.dead_letters_key
        (size,) = await self._context.store.execute_all([("XLEN", key)])
        excess = max(0, int(size) - MAX_DEAD_LETTERS)
        if excess and not dry_run:
            await self._context.store.execute_all([("XTRIM", key, "MAXLEN", MAX_DEAD_LETTERS)])
        return excess
