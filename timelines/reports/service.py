"""Accepts reports, and leads them through the queue of staff to an outcome. A report itself hides nothing.

A reporter sees the outcome, and never the staff member or the sanction. No page, message or file of the reported
account contains a reporter.
"""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
from django.utils.translation import gettext as _
from msgspec import structs

from accounts.accounts.service import AccountService
from accounts.domain import DELETED, Author
from accounts.errors import AccountNotFound
from socialsite.characters import normalize
from socialsite.clock import DAY_MS
from socialsite.concurrency import run_together
from socialsite.errors import Invalid, Unavailable
from socialsite.ids import MAX_ID, AccountId, PostId, PostIdGenerator, TimeSource, ms_from_id
from socialsite.limits import ActionLimits, Caller
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.service import Service
from socialsite.site.service import SiteService
from socialsite.store.aof import wait_for_aof_at_exit
from timelines.errors import AlreadyReported, CannotDecideOwnReport, ReportClaimed, ReportClosed, ReportNotFound
from timelines.notifications.kinds import REPORT_CLOSED
from timelines.notifications.service import NotificationService
from timelines.posts.post import Post
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.reports.report import (
    CATEGORIES,
    COMMENT_MAX_LENGTH,
    MAX_REPORTED_POSTS,
    NOBODY,
    REPORTS_CAP,
    Claim,
    QueueEntry,
    Report,
    ReportCategory,
    ReportOutcome,
)
from timelines.reports.repository import MAX_ATTEMPTS, Reports
from timelines.visibility.rights import ViewContext

REPORTS_PER_DAY = 50
NEW_REPORTER_MS, NEW_REPORTER_PER_DAY = 7 * DAY_MS, 10
"""The age below which an account is new here, and its reports of a day, whatever limits the site has for newcomers."""
OPEN_SAMPLE = 100
"""The number of open reports among which the reporter with the most is found."""
REPORT_KEPT_DAYS = 90
"""The number of days for which a closed report is kept with the texts of its posts."""
QUEUE_PAGE, CLOSED_PAGE = 30, 100
BACKLOG_MS = 5_000
CLAIM_MS = 3_600_000
REASON_MAX_LENGTH = 200
REPEATS_CHECKED = 100
"""The number of a reporter's newest reports among which a repetition is found."""
UPKEEP_INTERVAL_S = 60.0
UPKEEP_BATCH = 100
NOTIFY_AGAIN_MS = 10 * 60_000
"""Workers notify reporters again for this time after the end of a report. A repetition has no effect."""


class AccountReports(NamedTuple):
    """The newest reports about and by an account, and how many there are."""

    about: list[Report]
    by: list[Report]
    about_count: int
    by_count: int


class Backlog(NamedTuple):
    """The number of open reports, and the time (Unix ms) of the oldest, or None."""

    open_reports: int
    oldest_ms: int | None


NO_BACKLOG = Backlog(0, None)


class ReportService(Service):
    """Stores reports, claims them for a staff member, and closes them."""

    reports: Reports
    accounts: AccountService
    pipeline: ReadPipeline
    notifications: NotificationService
    site: SiteService
    ids: PostIdGenerator
    limits: ActionLimits
    clock: TimeSource
    backlog: Backlog = NO_BACKLOG
    """A copy of this process, which the home and the pages of staff read again after BACKLOG_MS."""
    _loaded_ms: int = 0

    # Reporters

    async def report(
        self,
        *,
        reporter_id: AccountId,
        target_id: AccountId,
        category: str,
        comment: str,
        post_ids: Collection[PostId] = (),
        rule_numbers: Collection[int] = (),
        caller: Caller | None = None,
    ) -> Report:
        """Store a report, and return it. Posts of other accounts, and posts that the reporter cannot see, are left out.

        Raises AccountNotFound, Invalid, AlreadyReported, RateLimited, AccountSilenced.
        """
        comment, rules = normalize("NFC", comment.strip()[: 2 * COMMENT_MAX_LENGTH]), self.site.settings.rules
        valid_category = next((each for each in CATEGORIES if each == category), None)
        if valid_category is None:
            raise Invalid({"category": _("This must be one of: %(choices)s.") % {"choices": ", ".join(CATEGORIES)}})
        if len(comment) > COMMENT_MAX_LENGTH:
            raise Invalid({"comment": _("This text is too long.")})
        self.limits.require_may_write(caller)
        reporter, target = await run_together(self.accounts.find(reporter_id), self.accounts.find(target_id))
        is_new = reporter is not None and self.clock.now_ms() < reporter.created_ms + NEW_REPORTER_MS
        per_day = NEW_REPORTER_PER_DAY if is_new else REPORTS_PER_DAY
        async with self.limits.refundable(caller, "report"), self.limits.refundable_daily(caller, "reports", per_day):
            if target is None or not target.is_active:
                raise AccountNotFound
            viewer = ViewerContext(reporter_id, ViewContext.POST)
            entries = await self.pipeline.read_posts(list(post_ids)[:MAX_REPORTED_POSTS], viewer)
            posts = [each.shown.post for each in entries if each.shown.post.author_id == target_id]
            chosen = tuple(rules[number] for number in sorted(set(rule_numbers)) if 0 <= number < len(rules))
            own_ids = tuple(dict.fromkeys(post.id for post in posts))
            report = Report(self.ids.next_id(), reporter_id, target_id, valid_category, comment, own_ids, chosen)
            await self.limits.enforce_bytes("reports", caller, len(msgspec.msgpack.encode((report, posts))))
            await self._add(report, posts)
        return report

    async def _add(self, report: Report, posts: Sequence[Post]) -> None:
        for _attempt in range(MAX_ATTEMPTS):
            earlier = await self.reports.by(report.reporter_id, REPEATS_CHECKED)
            if any(each.target_id == report.target_id and each.covers(report.post_ids) for each in earlier):
                raise AlreadyReported
            newest_id = earlier[0].id if earlier else PostId(0)
            if size := await self.reports.add(report, posts, newest_id):
                await self._make_room(size - REPORTS_CAP)
                self._loaded_ms = 0
                return
        raise Unavailable

    async def _make_room(self, count: int) -> None:
        """Delete reports above the cap: those that were closed first, unless more than half of all are open.

        The oldest open report of the reporter with most open reports is removed, so that no reporter fills the queue.
        It is found among OPEN_SAMPLE reports, as Redis finds keys to evict. Claimed reports give way last.
        """
        if count <= 0:
            return
        open_count, _oldest_id = await self.reports.count_open()
        if open_count <= REPORTS_CAP // 2:
            await self.reports.delete(await self.reports.closed_between(0, math.inf, count))
            return
        sample, now_ms = await self.reports.sample_open(OPEN_SAMPLE), self.clock.now_ms()
        shares = Counter(each.reporter_id for each, _claim in sample)

        def order(row: tuple[Report, Claim | None]) -> tuple[bool, int, int]:
            report, claim = row
            return claim is not None and claim.until_ms > now_ms, -shares[report.reporter_id], report.id

        await self.reports.delete(each.id for each, _claim in sorted(sample, key=order)[:count])

    async def has_reported(self, reporter_id: AccountId, post_id: PostId) -> bool:
        return any(post_id in each.post_ids for each in await self.reports.by(reporter_id, REPEATS_CHECKED))

    async def own(self, reporter_id: AccountId, limit: int, before: int | None = None) -> list[Report]:
        """Return the reports of an account, newest first."""
        return await self.reports.by(reporter_id, limit, before or MAX_ID)

    # Staff

    async def open_reports(self) -> Backlog:
        count, oldest_id = await self.reports.count_open()
        self._loaded_ms = self.clock.now_ms()
        self.backlog = Backlog(count, None if oldest_id is None else ms_from_id(oldest_id))
        return self.backlog

    @property
    def is_backlog_fresh(self) -> bool:
        return 0 <= self.clock.now_ms() - self._loaded_ms < BACKLOG_MS

    async def queue(
        self, staff_id: AccountId, after: int = 0, category: ReportCategory | None = None, *, only_own: bool = False
    ) -> tuple[list[QueueEntry], int | None]:
        """Return the accounts with open reports, the oldest report first, and the next cursor.

        The staff member is left out. If `only_own`, only accounts that the staff member has claimed are returned.
        """
        now_ms = self.clock.now_ms()
        entries, next_after = await self.reports.queue(QUEUE_PAGE, after, category, staff_id if only_own else None)
        entries = [
            each._replace(claim=each.claim if each.claim and each.claim.until_ms > now_ms else None)
            for each in entries
            if each.account_id != staff_id
        ]
        return [each for each in entries if each.claim is not None or not only_own], next_after

    async def closed(
        self, staff_id: AccountId, skip: int = 0, category: ReportCategory | None = None
    ) -> tuple[list[Report], int | None]:
        """Return closed reports, the last closed first, and the number to skip for the next page."""
        page = await self.reports.closed(CLOSED_PAGE, skip)
        visible_reports = [each for each in page if category in (None, each.category) and each.target_id != staff_id]
        return visible_reports, skip + CLOSED_PAGE if len(page) == CLOSED_PAGE else None

    async def of_account(self, staff_id: AccountId, account_id: AccountId, limit: int) -> AccountReports:
        """Return the reports about and by an account. Reports about the staff member are left out."""
        about, by, (about_count, by_count) = await run_together(
            self.reports.about(account_id, limit), self.reports.by(account_id, limit), self.reports.count(account_id)
        )
        visible_reports = [each for each in by if each.target_id != staff_id]
        return AccountReports(about, visible_reports, about_count, by_count - len(by) + len(visible_reports))

    async def find_claim(self, report: Report) -> Claim | None:
        """Return the claim on the open reports about the account, unless it has ended."""
        claim = await self.reports.find_claim(report.target_id)
        return claim if claim is not None and claim.until_ms > self.clock.now_ms() else None

    async def find_answerable(self, staff_id: AccountId, account_id: AccountId, limit: int) -> list[PostId]:
        """Return open reports about the account, or none while another staff member has claimed them."""
        claim, open_ids = await run_together(
            self.reports.find_claim(account_id), self.reports.open_ids(account_id, limit)
        )
        is_claimed = claim is not None and claim.until_ms > self.clock.now_ms() and claim.staff_id != staff_id
        return [] if is_claimed else open_ids

    async def find(self, report_id: PostId, staff_id: AccountId) -> Report:
        """Return a report. Raises ReportNotFound, and CannotDecideOwnReport if it is about the staff member."""
        found = await self.reports.find_many([report_id])
        if not found:
            raise ReportNotFound
        if found[0].target_id == staff_id:
            raise CannotDecideOwnReport
        return found[0]

    async def claim(self, staff_id: AccountId, report_id: PostId, reason: str = "") -> Report:
        """Claim the open reports about the account of a report for an hour. With a reason the claim is taken over.

        Raises ReportNotFound, CannotDecideOwnReport, ReportClosed, ReportClaimed.
        """
        report, now_ms = await self.find(report_id, staff_id), self.clock.now_ms()
        claim = Claim(staff_id, now_ms + CLAIM_MS, " ".join(reason.split())[:REASON_MAX_LENGTH])
        held = await self.reports.claim(report.target_id, claim, now_ms)
        if held is not None and held.staff_id != staff_id:
            raise ReportClaimed
        if not (await self.find(report_id, staff_id)).is_open:  # now only the owner of the claim closes the report
            raise ReportClosed
        return report

    async def claim_all(self, staff_id: AccountId, account_id: AccountId, report_ids: Collection[int]) -> None:
        """Claim reports about an account before an action that answers them. Raises the errors of `claim`.

        Reports that the staff member has closed are left out, so that the action may be repeated.
        """
        for report in await self.reports.find_many(list(report_ids)):
            if report.target_id != account_id:
                raise ReportNotFound
            if report.is_open or report.closed_by != staff_id:
                await self.claim(staff_id, report.id)

    async def close(
        self, staff_id: AccountId, report_ids: Collection[PostId], outcome: ReportOutcome = "acted"
    ) -> list[Report]:
        """Close reports, and notify their reporters. Reports that are closed already stay as they are.

        The staff member claims the reports first. Raises ReportNotFound, CannotDecideOwnReport, ReportClosed (if none
        of them is open), ReportClaimed.
        """
        found = await self.reports.find_many(list(report_ids))
        claimed = [await self.claim(staff_id, each.id) for each in found if each.is_open]
        if found and not claimed:
            raise ReportClosed
        return await self.finish(staff_id, [each.id for each in claimed], outcome)

    async def finish(
        self, staff_id: AccountId, report_ids: Collection[PostId], outcome: ReportOutcome = "acted"
    ) -> list[Report]:
        """Close reports without a claim, after an action whose start has claimed them. The call may be repeated."""
        now_ms = self.clock.now_ms()

        def close(report: Report) -> Report:
            if not report.is_open:
                return report
            return structs.replace(report, outcome=outcome, closed_ms=now_ms, closed_by=staff_id)

        reports = await run_together(*(self.reports.replace(id, close) for id in report_ids))
        closed = [each for each in reports if each is not None]
        self._loaded_ms = 0
        await self._notify(closed)
        return closed

    async def find_reported(self, report_ids: Sequence[PostId]) -> dict[PostId, Author]:
        """Return the account that each report is about, without deleted accounts."""
        reports = await self.reports.find_many(report_ids)
        authors = await self.accounts.find_authors({each.target_id for each in reports})
        targets = {each.id: authors.get(each.target_id) for each in reports}
        return {id: each for id, each in targets.items() if each is not None and each.state != DELETED}

    async def _notify(self, reports: Sequence[Report]) -> None:
        for each in reports:
            if each.reporter_id != NOBODY:
                await self.notifications.add({each.reporter_id: REPORT_CLOSED}, each.reporter_id, each.id)

    # Deleted accounts and old reports

    async def purge(self, account_id: AccountId, limit: int) -> bool:
        """Remove the account from its reports, and close reports about it. Return True if some may be left."""
        own, about = await self.reports.by(account_id, limit), await self.reports.open_ids(account_id, limit)
        for each in own:
            await self.reports.replace(each.id, partial(structs.replace, reporter_id=NOBODY))
        await self.finish(NOBODY, about, "account_deleted")
        return bool(own or about)

    async def maintain(self) -> None:
        """Delete reports that were closed REPORT_KEPT_DAYS ago, and repeat notifications."""
        now_ms = self.clock.now_ms()
        async with wait_for_aof_at_exit():
            expired = await self.reports.closed_between(0, now_ms - REPORT_KEPT_DAYS * DAY_MS, UPKEEP_BATCH)
            await self.reports.delete(expired)
            recent = await self.reports.closed_between(now_ms - NOTIFY_AGAIN_MS, now_ms, UPKEEP_BATCH)
            await self._notify(await self.reports.find_many(recent))

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        return (PeriodicTask("reports", UPKEEP_INTERVAL_S, self.maintain),)
