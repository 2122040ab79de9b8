"""Moderation of accounts: search, suspension, password reset, end of sessions."""

import re
import secrets
from collections.abc import Awaitable, Collection, Iterable
from typing import Any, NamedTuple

from django.views.decorators.debug import sensitive_variables

from accounts.domain import Author
from accounts.joining.values import Application
from accounts.mail.repository import MailAccount
from accounts.mail.values import SentMail
from accounts.models import Account
from accounts.sanctions.sanction import Sanction
from accounts.security.events import SecurityEvent
from accounts.sessions.values import ActiveSession
from socialsite.admin.audit_log import Actor, AuditLog
from socialsite.admin.sanctions import SanctionService, find_starting_text, get_target
from socialsite.analytics.stats import ViewCounts
from socialsite.concurrency import run_together
from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.recipes.buffer import Entity
from socialsite.recipes.rate_limit import Identifier, WindowStats
from socialsite.site_host import remove_own_host
from timelines.graph.follow import FollowCounts
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.post import FOLLOWERS, Post
from timelines.reports.service import AccountReports

ACCOUNTS_SCANNED_MAX = 5_000
"""Maximum number of accounts that one page of a search reads. Its cursor continues below them."""
ACCOUNTS_PER_BATCH = 500
QUOTATION_MARKS = '"“”„«»'  # the page shows curly ones, and phones type them
POSTS_SHOWN, LOGINS_SHOWN, REPORTS_SHOWN = 20, 10, 10
PASSWORD_BYTES = 15


class AccountOverview(NamedTuple):
    """The data about an account that staff sees, in any state."""

    account: Account
    counts: FollowCounts
    posts: int
    view_counts: ViewCounts | None
    sessions: list[ActiveSession]
    rate_limit_usage: list[WindowStats]
    mail_account: MailAccount
    mails: list[SentMail]
    sanctions: list[Sanction]
    newest_posts: list[Post]
    reports: AccountReports
    logins: list[SecurityEvent]
    application: Application
    sharing_ids: list[AccountId]
    """Other accounts that logged in from the networks of `logins`."""


async def find_shown_posts(services: Services, account_id: AccountId, chosen: Collection[int] = ()) -> list[Post]:
    """Return the newest posts and the chosen ones of an account. Posts for followers are left out unless chosen."""
    ids = await services.repositories.author_timelines.read(account_id, ABOVE_ALL_IDS, 2 * POSTS_SHOWN, upward=False)
    posts = await services.repositories.posts.find_shown(list(dict.fromkeys([*map(PostId, chosen), *ids])))
    own = [post for post in posts.values() if post.author_id == account_id and post.boost_of is None]
    named = [post for post in own if post.id in chosen]
    others = [post for post in own if post.id not in chosen and post.audience != FOLLOWERS]
    return named + sorted(others, key=lambda post: -post.id)[:POSTS_SHOWN]


class Moderation:
    """Actions of staff on accounts. Each is written to the audit log before it is done."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._accounts = services.accounts
        self._audit_log = AuditLog(services.store)

    async def search(self, text: str, before: int | None, limit: int) -> tuple[list[Author], int | None]:
        """Search by a handle or its prefix, or by a part of a text of the profile.

        A text has other characters than a handle, or is in quotes. A page scans ACCOUNTS_SCANNED_MAX accounts, since no
        index has them. Returns the accounts, newest first after an exact match, and the cursor that continues the
        search. It is None if the oldest account was read.
        """
        prefix = remove_own_host(text.strip().removeprefix("@").lower())
        find = self._find_by_prefix if re.fullmatch(r"[a-z0-9_]*", prefix) else self._find_by_text
        matches: list[Author] = []
        exact = await self._accounts.find_by_handle(prefix) if prefix and before is None else None
        exact_id = exact and exact.id
        if exact is not None:
            matches.append(exact.author)
        above = before or await self._services.repositories.accounts.last_id() + 1
        lowest = max(1, above - ACCOUNTS_SCANNED_MAX)
        while above > lowest and len(matches) < limit:
            start = max(lowest, above - ACCOUNTS_PER_BATCH)
            authors, room = await find(prefix, range(start, above)), limit - len(matches)
            newest_first = sorted(authors, key=lambda author: -author.id)
            batch = [each for each in newest_first if each.id != exact_id][:room]
            matches += batch
            above = batch[-1].id if len(batch) == room else start
        return matches, above if above > 1 else None

    async def _find_by_prefix(self, prefix: str, ids: Iterable[int]) -> list[Author]:
        authors = await self._accounts.find_authors(map(AccountId, ids))
        return [author for author in authors.values() if author.handle.startswith(prefix)]

    async def _find_by_text(self, text: str, ids: Iterable[int]) -> list[Author]:
        (accounts,) = await self._services.store.read(self._accounts.read_many(map(AccountId, ids)))
        part = text.strip(QUOTATION_MARKS)
        return [account.author for account in accounts.values() if part in "\n".join(account.parts).lower()]

    async def get_overview(self, account_id: AccountId, viewer_id: AccountId) -> AccountOverview:
        """Return the data about an account, each part bounded. Raises AccountNotFound.

        Staff does not see reports and notes about the own account.
        """
        services = self._services
        rules, now_ms = list(services.rules.values()), services.clock.server_ms()
        reports_shown = 0 if account_id == viewer_id else REPORTS_SHOWN
        parts: dict[str, Awaitable[Any]] = {
            "account": self._accounts.get(account_id),
            "counts": services.following.counts(account_id),
            "posts": services.reading.post_count(account_id),
            "view_counts": services.statistics.stats.view_counts_if_available(Entity("account", account_id)),
            "sessions": services.sessions.list_sessions(account_id),
            "rate_limit_usage": services.limits.read_stats(Identifier.account(account_id), rules, now_ms),
            "mail_account": services.mail.find(account_id),
            "mails": services.mail.list_mails(account_id),
            "sanctions": services.repositories.sanctions.list_all(account_id),
            "newest_posts": find_shown_posts(services, account_id),
            "logins": services.security_events.list_newest(account_id),
            "reports": services.reports.of_account(viewer_id, account_id, reports_shown),
            "application": services.joining.find_application(account_id),
        }
        overview: dict[str, Any] = dict(zip(parts, await run_together(*parts.values()), strict=True))
        if account_id == viewer_id:
            overview["sanctions"] = [each for each in overview["sanctions"] if each.is_told]
        logins = overview["logins"] = [event for event in overview["logins"] if event.kind == "login"][:LOGINS_SHOWN]
        ids = await services.security_events.list_accounts({each.network for each in logins if each.network})
        return AccountOverview(**overview, sharing_ids=[id for id in ids if id != account_id])

    async def suspend(self, actor: Actor, account_id: AccountId) -> None:
        """Suspend an account with the text that staff otherwise edits."""
        text, _language = await find_starting_text(self._services, account_id, "suspend")
        await SanctionService(self._services).apply(actor, account_id, "suspend", text)

    async def reinstate(self, actor: Actor, account_id: AccountId) -> None:
        """Undo all suspensions of an account, and show it again if a repair hid it.

        An account whose owner has requested its deletion stays hidden.
        """
        await self._record_action(actor, "reinstate", account_id)
        sanctions = SanctionService(self._services)
        for sanction in await self._services.repositories.sanctions.list_all(account_id):
            if sanction.kind == "suspend" and not sanction.undo_ms:
                await sanctions.take_back(actor, sanction)
        await sanctions.settle(account_id, "suspend")

    async def end_sessions(self, actor: Actor, account_id: AccountId) -> None:
        await self._record_action(actor, "sessions", account_id)
        await self._services.sessions.end_all(account_id)

    @sensitive_variables()
    async def reset_password(self, actor: Actor, account_id: AccountId) -> tuple[Account, str]:
        """Set a random password and end all sessions. Returns the account and the password."""
        account = await self._record_action(actor, "password", account_id)
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        return await self._accounts.set_password(account=account, new=password), password

    async def _record_action(self, actor: Actor, action: str, account_id: AccountId) -> Account:
        """Write an action to the audit log and return its account.

        Raises CannotModerateSelf, CannotModerateStaff, AccountNotFound.
        """
        account = await get_target(self._services, actor, account_id)
        await self._audit_log.record(actor, action, f"account:{account_id}")
        return account
