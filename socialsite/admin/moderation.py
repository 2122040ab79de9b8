"""What staff does with accounts: find them, suspend, reinstate, reset their password, end their sessions."""

import secrets
from dataclasses import dataclass

from django.views.decorators.debug import sensitive_variables

from accounts.domain import Author
from accounts.errors import AccountNotFound
from accounts.models import Account
from accounts.sessions.values import ActiveSession
from socialsite.admin.audit_log import Actor, AuditLog
from socialsite.admin.errors import CannotModerateSelf
from socialsite.analytics.stats import ViewCounts
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.recipes.buffer import Entity
from socialsite.recipes.rate_limit import Identifier, WindowStats
from timelines.graph.follow import FollowCounts

ACCOUNTS_SCANNED_MAX = 5_000
"""Accounts that one page of a search looks at; its cursor goes on below."""
ACCOUNTS_PER_BATCH = 500
PASSWORD_BYTES = 15


@dataclass(frozen=True, slots=True)
class AccountSearchPage:
    """Newest first, an exact match before all. `next`: where to look further; None at the oldest account."""

    authors: list[Author]
    next_cursor: int | None


@dataclass(frozen=True, slots=True)
class AccountOverview:
    """An account as staff sees it, in any state."""

    account: Account
    counts: FollowCounts
    posts: int
    view_counts: ViewCounts
    sessions: list[ActiveSession]
    rate_limit_usage: list[WindowStats]


class Moderation:
    """Orders of staff about accounts; each is written into the trail before it is carried out."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._accounts = services.accounts
        self._trail = AuditLog(services.store)

    async def search(self, text: str, before: int | None, limit: int) -> AccountSearchPage:
        """By handle or its beginning. Handles stand in no index, so ids are walked, LOOKED_AT a page."""
        prefix = text.strip().removeprefix("@").lower()
        found: list[Author] = []
        exact = await self._accounts.find_by_handle(prefix) if prefix and before is None else None
        if exact is not None:
            found.append(exact.author)
        above = before or await self._services.repositories.accounts.last_id() + 1
        lowest = max(1, above - ACCOUNTS_SCANNED_MAX)
        while above > lowest and len(found) < limit:
            start = max(lowest, above - ACCOUNTS_PER_BATCH)
            met = await self._accounts.find_authors(AccountId(id) for id in range(start, above))
            for author in sorted(met.values(), key=lambda author: -author.id):
                above = author.id
                if author.handle.startswith(prefix) and (exact is None or author.id != exact.id):
                    found.append(author)
                    if len(found) >= limit:
                        break
            else:
                above = start
        return AccountSearchPage(found, above if above > 1 else None)

    async def get_overview(self, account_id: AccountId) -> AccountOverview:
        """Raises AccountNotFound."""
        services, account = self._services, await self._get(account_id)
        visits = await services.statistics.stats.view_counts_if_available(Entity("account", account_id))
        return AccountOverview(
            account=account,
            counts=await services.following.counts(account_id),
            posts=await services.reading.post_count(account_id),
            view_counts=visits or ViewCounts(),
            sessions=await services.sessions.list_sessions(account_id),
            rate_limit_usage=await services.limits.read_stats(
                Identifier.account(account_id), list(services.rules.values()), services.clock.now_ms()
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
        """The account, signed out everywhere, and its new password, which nobody will be told again."""
        account = await self._record_action(actor, "password", account_id)
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        return await self._accounts.set_password(account=account, new=password), password

    async def _record_action(self, actor: Actor, action: str, account_id: AccountId) -> Account:
        """Raises CannotModerateSelf, AccountNotFound (also for a deleted account: nothing is left to be done)."""
        account = await self._get(account_id)
        if account_id == actor.account_id:
            raise CannotModerateSelf
        if account.state == "deleted":
            raise AccountNotFound
        await self._trail.record(actor, action, f"account:{account_id}")
        return account

    async def _get(self, account_id: AccountId) -> Account:
        account = await self._accounts.find(account_id)
        if account is None:
            raise AccountNotFound
        return account
