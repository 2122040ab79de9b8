"""What staff does with accounts: find them, suspend, reinstate, reset their password, end their sessions."""

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.views.decorators.debug import sensitive_variables

from accounts.domain import AccountId, Author, OpenSession
from accounts.errors import AccountNotFound
from accounts.models import Account
from socialsite.admin.audit_log import Actor, AuditTrail
from socialsite.admin.errors import OwnAccount
from socialsite.analytics.stats import Visits
from socialsite.recipes.buffer import Entity
from socialsite.recipes.rate_limit import Subject, Usage
from timelines.graph.follow import FollowCounts

if TYPE_CHECKING:
    from socialsite.services import Services

LOOKED_AT = 5_000
"""Accounts that one page of a search looks at; its cursor goes on below."""
AT_ONCE = 500
PASSWORD_BYTES = 15


@dataclass(frozen=True, slots=True)
class FoundAccounts:
    """Newest first, an exact match before all. `next`: where to look further; None at the oldest account."""

    authors: list[Author]
    next: int | None


@dataclass(frozen=True, slots=True)
class Case:
    """An account as staff sees it, in any state."""

    account: Account
    counts: FollowCounts
    posts: int
    visits: Visits
    sessions: list[OpenSession]
    usage: list[Usage]


class Moderation:
    """Orders of staff about accounts; each is written into the trail before it is carried out."""

    def __init__(self, services: "Services") -> None:
        self._services = services
        self._accounts = services.accounts
        self._trail = AuditTrail(services.store)

    async def search(self, text: str, before: int | None, limit: int) -> FoundAccounts:
        """By handle or its beginning. Handles stand in no index, so ids are walked, LOOKED_AT a page."""
        prefix = text.strip().removeprefix("@").lower()
        found: list[Author] = []
        exact = await self._accounts.find_by_handle(prefix) if prefix and before is None else None
        if exact is not None:
            found.append(exact.author)
        above = before or await self._services.repositories.accounts.last_id() + 1
        lowest = max(1, above - LOOKED_AT)
        while above > lowest and len(found) < limit:
            start = max(lowest, above - AT_ONCE)
            met = await self._accounts.authors(AccountId(id) for id in range(start, above))
            for author in sorted(met.values(), key=lambda author: -author.id):
                above = author.id
                if author.handle.startswith(prefix) and (exact is None or author.id != exact.id):
                    found.append(author)
                    if len(found) >= limit:
                        break
            else:
                above = start
        return FoundAccounts(found, above if above > 1 else None)

    async def case(self, account_id: AccountId) -> Case:
        """Raises AccountNotFound."""
        services, account = self._services, await self._get(account_id)
        visits = await services.statistics.figures.visits_if_known(Entity("account", account_id))
        return Case(
            account=account,
            counts=await services.following.counts(account_id),
            posts=await services.reading.post_count(account_id),
            visits=visits or Visits(),
            sessions=await services.sessions.open_sessions(account_id),
            usage=await services.limits.peek(
                Subject.account(account_id), list(services.rules.values()), services.clock.now_ms()
            ),
        )

    async def suspend(self, actor: Actor, account_id: AccountId) -> None:
        await self._note(actor, "suspend", account_id)
        await self._accounts.suspend(account_id=account_id)

    async def reinstate(self, actor: Actor, account_id: AccountId) -> None:
        await self._note(actor, "reinstate", account_id)
        await self._accounts.reinstate(account_id=account_id)

    async def end_sessions(self, actor: Actor, account_id: AccountId) -> None:
        await self._note(actor, "sessions", account_id)
        await self._services.sessions.end_all(account_id)

    @sensitive_variables()
    async def reset_password(self, actor: Actor, account_id: AccountId) -> tuple[Account, str]:
        """The account, signed out everywhere, and its new password, which nobody will be told again."""
        account = await self._note(actor, "password", account_id)
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        return await self._accounts.set_password(account=account, new=password), password

    async def _note(self, actor: Actor, action: str, account_id: AccountId) -> Account:
        """Raises OwnAccount, AccountNotFound (also for a deleted account: nothing is left to be done)."""
        account = await self._get(account_id)
        if account_id == actor.account_id:
            raise OwnAccount
        if account.state == "deleted":
            raise AccountNotFound
        await self._trail.note(actor, action, f"account:{account_id}")
        return account

    async def _get(self, account_id: AccountId) -> Account:
        account = await self._accounts.find(account_id)
        if account is None:
            raise AccountNotFound
        return account
