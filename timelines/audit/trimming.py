"""Trimming: every cap applied, and what expiry and crashes left behind taken away.

Writers hold the caps themselves; this is for caps that were lowered, and for leftovers, which are harmless
but take room. A leftover goes only when a second look finds it again.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence

from socialsite.maintenance.scanning import OnProgress, ignore_progress, scan_store
from socialsite.recipes.job_queue import MAX_DEAD_LETTERS, JobQueue
from socialsite.service_config import ServiceConfig
from socialsite.store import Command, Key, Store
from timelines.audit import Finding
from timelines.audit.discrepancy import Check
from timelines.audit.lists import ListChecks
from timelines.audit.reactions import ReactionChecks
from timelines.audit.reader import Looking
from timelines.audit.repairs import Places
from timelines.audit.sessions import SessionChecks
from timelines.cached_timelines.pushing import trim_command
from timelines.hashtags.repository import HASHTAG_CAP
from timelines.notifications.repository import NOTIFICATIONS_CAP
from timelines.reactions.bookmark_repository import BOOKMARKS_CAP

SECOND_LOOK_AFTER_S = 1.0
PROFILES = re.compile(r"timelines:\{(\d+\}:profile|q\d+\}:profile:\d+)")


class Trimming:
    def __init__(self, places: Places, *, second_look_after_s: float = SECOND_LOOK_AFTER_S) -> None:
        self._places = places
        self._store: Store = places.store
        self._outbox: JobQueue = places.outbox
        self._capped = capped_families(places.config)
        self._swept = swept_families(places)
        self._pause_s = second_look_after_s

    async def trim(self, on_step: OnProgress = ignore_progress, *, dry_run: bool = False) -> Counter[str]:
        """Entries and leftovers taken away, by kind; with `dry_run` those that would be."""
        done: Counter[str] = Counter()
        leftovers: list[Finding] = []
        async for found in scan_store(self._store, on_step):
            for kind, pattern, cap in self._capped:
                some = [key for key in found if pattern.fullmatch(key)]
                done[kind] += await self._cut(some, cap, dry_run=dry_run)
            leftovers += await self._look(found)
        for finding in await self._confirmed(leftovers):
            done[finding.kind] += 1
            if not dry_run and finding.repair is not None:
                await finding.repair()
        done["dead_letters"] += await self._cut_dead(dry_run=dry_run)
        return +done

    async def _cut(self, found: Sequence[Key], cap: int, *, dry_run: bool) -> int:
        """Lists keep their floor; sorted sets their newest."""
        if not found:
            return 0
        lists = [key for key in found if key.endswith((":home", "}:posts")) and key.component == "timelines"]
        sizes = await self._store.gather([("LLEN" if key in lists else "ZCARD", key) for key in found])
        over = {
            key: size - cap - (key in lists)
            for key, size in zip(found, sizes, strict=True)
            if size > cap + (key in lists)
        }
        cuts: list[Command] = [
            trim_command(key, cap) if key in lists else ("ZREMRANGEBYRANK", key, 0, -cap - 1) for key in over
        ]
        if not dry_run:
            await self._store.gather(cuts)
        return sum(over.values())

    async def _look(self, found: Sequence[Key]) -> list[Finding]:
        look, findings = self._looking(), list[Finding]()
        for pattern, check in self._swept:
            if some := [key for key in dict.fromkeys(found) if pattern.fullmatch(key)]:
                findings += await check(look, some)
        return [finding for finding in findings if not finding.is_damage]

    async def _confirmed(self, leftovers: Sequence[Finding]) -> list[Finding]:
        if not leftovers:
            return []
        await asyncio.sleep(self._pause_s)
        again = await self._look([finding.key for finding in leftovers])
        return [finding for finding in again if finding in leftovers]

    async def _cut_dead(self, *, dry_run: bool) -> int:
        dead = self._outbox.dead_letters_key
        (size,) = await self._store.gather([("XLEN", dead)])
        over = max(0, int(size) - MAX_DEAD_LETTERS)
        if over and not dry_run:
            await self._store.gather([("XTRIM", dead, "MAXLEN", MAX_DEAD_LETTERS)])
        return over

    def _looking(self) -> Looking:
        return Looking(self._store, self._outbox, self._places.posts)


def capped_families(config: ServiceConfig) -> list[tuple[str, re.Pattern[str], int]]:
    """(kind, keys, cap)"""
    return [
        ("profile_entries", PROFILES, config.profile_cap),
        ("public_entries", re.compile(r"public:\{public\}:posts"), config.public_cap),
        ("tag_entries", re.compile(r"timelines:\{[0-9a-f]{32}\}:tag"), HASHTAG_CAP),
        ("home_entries", re.compile(r"timelines:\{\d+\}:home"), config.home_cap),
        ("notifications", re.compile(r"timelines:\{\d+\}:notifications"), NOTIFICATIONS_CAP),
        ("bookmarks", re.compile(r"timelines:\{\d+\}:bookmarks"), BOOKMARKS_CAP),
        ("list_entries", re.compile(r"timelines:\{l\d+\}:posts"), config.list_cap),
    ]


def swept_families(places: Places) -> list[tuple[re.Pattern[str], Check]]:
    """Families with leftovers, and the audit's checks that know them."""
    sessions, lists, reactions = SessionChecks(places), ListChecks(places), ReactionChecks(places)
    return [
        (re.compile(r"sessions:\{\d+\}:session:[0-9a-f]{64}"), sessions.sessions),
        (re.compile(r"sessions:\{\d+\}:index"), sessions.indexes),
        (re.compile(r"timelines:\{l\d+\}:list"), lists.lists),
        (re.compile(r"timelines:\{\d+\}:lists"), lists.indexes),
        (re.compile(r"timelines:\{\d+\}:liked"), reactions.liked),
        (re.compile(r"timelines:\{\d+\}:boosted"), reactions.boosted),
    ]
