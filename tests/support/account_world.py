"""Accounts and sessions over a real store, with a clock that tests set and ports that record their calls."""

from dataclasses import dataclass, field
from typing import Any, cast

from accounts.accounts.repository import AccountRepository
from accounts.accounts.service import AccountService
from accounts.accounts.staff import StaffService
from accounts.keys import totals
from accounts.models import Account
from accounts.security.browsers import BrowserRegistry
from accounts.security.events import SecurityEvents
from accounts.sessions.repository import SessionRepository
from accounts.sessions.service import SessionService, SessionStore
from accounts.sessions.values import SessionLimits
from socialsite.analytics.stats import Statistics
from socialsite.clock import FixedClock
from socialsite.ids import AccountId
from socialsite.limits import ActionLimits
from socialsite.recipes.rate_limit import RateLimiter
from socialsite.store import Store
from socialsite.web.services import SiteServices, loop_services

NOW_MS = 1_800_000_000_000
PASSWORD = "correct horse 42"


@dataclass
class AccountWorld:
    """Objects for tests of accounts. `ended` and `deleted` record the calls of the ports."""

    store: Store
    limits: SessionLimits = field(default_factory=SessionLimits)
    clock: FixedClock = field(default_factory=lambda: FixedClock(NOW_MS))
    ended: list[tuple[AccountId, str | None]] = field(default_factory=list)
    deleted: list[AccountId] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.account_repository = AccountRepository(self.store)
        self.session_repository = SessionRepository(self.store, self.limits)
        self.sessions = SessionService(
            sessions=self.session_repository,
            tokens=SessionRepository(self.store, are_tokens=True),
            accounts=self.account_repository,
            clock=self.clock,
            on_sessions_ended=(self._ended,),
            on_session_replaced=self._ignore,
        )
        self.events = SecurityEvents(store=self.store, clock=self.clock)
        self.staff = StaffService(accounts=self.account_repository)
        self.accounts = AccountService(
            staff=self.staff,
            events=self.events,
            browsers=BrowserRegistry(store=self.store, clock=self.clock),
            accounts=self.account_repository,
            end_sessions=self.sessions.end_all,
            limits=ActionLimits(RateLimiter(self.store), {}, self.clock),
            on_deletion_requested=self._ignore,
            on_account_deleted=(self._deleted,),
            statistics=Statistics.create(self.store, self.clock, {"account": totals}),
            on_profile_edited=self._ignore,
            on_names_changed=self._ignore,
            on_password_changed=self._ignore,
            find_by_address=self._find_nobody,
            check_texts=lambda _texts: None,
            clock=self.clock,
        )
        services: dict[type[Any], Any] = {AccountService: self.accounts, SessionService: self.sessions}
        loop_services.bind(cast(SiteServices, services))

    async def _ended(self, account_id: AccountId, session_id: str | None) -> None:
        self.ended.append((account_id, session_id))

    async def _deleted(self, account_id: AccountId) -> None:
        self.deleted.append(account_id)

    async def _find_nobody(self, _address: str) -> None:
        """Return None for every mail address: no account has one."""

    async def _ignore(self, *_changed: object) -> None:
        """Do nothing. The tests do not need this port."""

    async def sign_up(self, handle: str = "alice", password: str | None = PASSWORD) -> Account:
        return await self.accounts.sign_up(handle=handle, password=password, now_ms=self.clock.now_ms())

    async def sign_in(self, account: Account, device: str = "Firefox on Linux") -> SessionStore:
        session = SessionStore(sessions=self.sessions)
        session.device = device
        await session.aset("_auth_user_id", str(account.id))
        await session.aset("_auth_user_backend", "accounts.backends.HandleBackend")
        await session.aset("_auth_user_hash", account.get_session_auth_hash())
        await session.asave()
        return session

    async def account_of(self, session: SessionStore | str | None) -> Account | None:
        cookie = session.session_key if isinstance(session, SessionStore) else session
        return (await self.sessions.load(cookie, self.clock.now_ms()))[0]
