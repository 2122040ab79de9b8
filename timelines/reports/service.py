"""Accepts reports. Nothing is hidden by a report: the people who run the site decide."""

from collections.abc import Collection
from dataclasses import dataclass

from django.utils.translation import gettext as _

from accounts.accounts.service import AccountService
from accounts.errors import AccountNotFound
from socialsite.characters import normalize
from socialsite.errors import Invalid
from socialsite.ids import AccountId, PostId, PostIdGenerator
from socialsite.limits import ActionLimits, Caller
from timelines.posts.repository import PostRepository
from timelines.reports.report import CATEGORIES, COMMENT_MAX_LENGTH, MAX_REPORTED_POSTS, Report
from timelines.reports.repository import Reports


@dataclass(kw_only=True, slots=True)
class ReportService:
    """Stores reports."""

    reports: Reports
    accounts: AccountService
    posts: PostRepository
    ids: PostIdGenerator
    limits: ActionLimits

    async def report(
        self,
        *,
        reporter_id: AccountId,
        target_id: AccountId,
        category: str,
        comment: str,
        post_ids: Collection[PostId] = (),
        caller: Caller | None = None,
    ) -> Report:
        """Store a report, and return it. Posts of other accounts are left out.

        Raises AccountNotFound, Invalid, RateLimited, AccountSilenced.
        """
        comment = normalize("NFC", comment.strip()[: 2 * COMMENT_MAX_LENGTH])
        valid_category = next((each for each in CATEGORIES if each == category), None)
        if valid_category is None:
            raise Invalid({"category": _("This must be one of: spam, legal, violation, other.")})
        if len(comment) > COMMENT_MAX_LENGTH:
            raise Invalid({"comment": _("This text is too long.")})
        self.limits.require_may_write(caller)
        async with self.limits.refundable(caller, "block"):
            target = await self.accounts.find(target_id)
            if target is None or not target.is_active:
                raise AccountNotFound
            posts = await self.posts.find_shown(list(post_ids)[:MAX_REPORTED_POSTS])
            own = tuple(id for id, post in posts.items() if post.author_id == target_id)
            report = Report(self.ids.next_id(), reporter_id, target_id, valid_category, comment, own)
            await self.reports.add(report)
        return report
