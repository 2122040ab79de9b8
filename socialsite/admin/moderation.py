"""Moderation of accounts: search, suspension, password reset, end of sessions."""

import secrets
from dataclasses import dataclass

from django.views.decorators.debug import sensitive_variables

from accounts.domain import Author
from accounts.errors import AccountNotFound
from accounts.mail.repository import MailAccount
from accounts.mail.values import SentMail
from accounts.models import Account
from accounts.roles import outranks
from accounts.sessions.values import ActiveSession
from socialsite.admin.audit_log import Actor, AuditLog
from socialsite.admin.errors import CannotModerateSelf, CannotModerateStaff
from socialsite.analytics.stats import ViewCounts
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.recipes.buffer import Entity
from socialsite.recipes.rate_limit import Identifier, WindowStats
from timelines.graph.follow import FollowCounts

ACCOUNTS_SCANNED_MAX = 5_000
"""Maximum number of accounts that one page of a search reads. Its cursor continues below them."""
ACCOUNTS_PER_BATCH = 500
PASSWORD_BYTES = 15


@dataclass(frozen=True, slots=True)
class AccountSearchPage:
    """The accounts that match, newest first after an exact match.

    `next_cursor` continues the search. It is None if the oldest account was read.
    """

    authors: list[Author]
    next_cursor: int | None


@dataclass(frozen=True, slots=True)
class AccountOverview:
    """The data about an account that staff sees, in any state."""

    account: Account
    counts: FollowCounts
    posts: int
    view_counts: ViewCounts
    sessions: list[ActiveSession]
    rate_limit_usage: list[WindowStats]
    mail_account: MailAccount
    mails: list[SentMail]


class Moderation:
    """Actions of staff on accounts. Each is written to the audit log before it is done."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._accounts = services.accounts
        self._audit_log = AuditLog(services.store)

    async def search(self, text: str, before: int | None, limit: int) -> AccountSearchPage:
        """Search by a handle or its prefix. A page scans ACCOUNTS_SCANNED_MAX accounts, since no index has handles."""
        prefix = text.strip().removeprefix("@").lower()
        matches: list[Author] = []
        exact = await self._accounts.find_by_handle(prefix) if prefix and before is None else None
        if exact is not None:
            matches.append(exact.author)
        above = before or await self._services.repositories.accounts.last_id() + 1
        lowest = max(1, above - ACCOUNTS_SCANNED_MAX)
        while above > lowest and len(matches) < limit:
            start = max(lowest, above - ACCOUNTS_PER_BATCH)
            authors = await self._accounts.find_authors(AccountId(id) for id in range(start, above))
            for author in sorted(authors.values(), key=lambda author: -author.id):
                above = author.id
                if author.handle.startswith(prefix) and (exact is None or author.id != exact.id):
                    matches.append(author)
                    if len(matches) >= limit:
                        break
            else:
                above = start
        return AccountSearchPage(matches, above if above > 1 else None)

    async def get_overview(self, account_id: AccountId) -> AccountOverview:
        """Return the data about an account. Raises AccountNotFound."""
        services, account = self._services, await self._get(account_id)
        view_counts = await services.statistics.stats.view_counts_if_available(Entity("account", account_id))
        return AccountOverview(
            account=account,
            counts=await services.following.counts(account_id),
            posts=await services.reading.post_count(account_id),
            view_counts=view_counts or ViewCounts(),
            sessions=await services.sessions.list_sessions(account_id),
            mail_account=await services.mail.find(account_id),
            mails=await services.mail.list_mails(account_id),
            rate_limit_usage=await services.limits.read_stats(
                Identifier.account(account_id), list(services.rules.values()), services.clock.server_ms()
            ),
        )

    async def suspend(self, actor: Actor, account_id: AccountId) -> None:
        await self._record_action(actor, "suspend", account_id)
        await self._accounts.suspend(account_id=account_id)

    async def reinstate(self, actor: Actor, account_id: AccountId) -> None:
        await self._record_action(actor, "reinstate", account_id)
        await self._accounts.reinstate(account_id=account_id)

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
        account, member = await self._get(account_id), await self._get(AccountId(actor.account_id))
        if account_id == actor.account_id:
            raise CannotModerateSelf
        if account.state == "deleted":
            raise AccountNotFound
        if not outranks(member, account):
            raise CannotModerateStaff
        await self._audit_log.record(actor, action, f"account:{account_id}")
        return account

    async def _get(self, account_id: AccountId) -> Account:
        account = await self._accounts.find(account_id)
        if account is None:
            raise AccountNotFound
        return account
