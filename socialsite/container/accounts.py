"""The services that all features use, and the services of accounts."""

from functools import partial

from accounts import keys as account_keys
from accounts.accounts.service import AccountService
from accounts.accounts.staff import StaffService
from accounts.factors.passkeys import PasskeyService
from accounts.factors.service import FactorService
from accounts.joining.service import JoiningService
from accounts.mail.handler import MailSending
from accounts.mail.queue import MailQueue
from accounts.mail.service import MailService
from accounts.oauth.service import OAuthService
from accounts.sanctions.service import SanctionRecords
from accounts.security.browsers import BrowserRegistry
from accounts.security.events import SecurityEvents
from accounts.sessions.pending import PendingLogins
from accounts.sessions.service import SessionService
from accounts.sessions.tokens import AccessTokenService
from socialsite.analytics.stats import Statistics
from socialsite.container.repositories import AnyClock, Repositories
from socialsite.ids import PostIdGenerator
from socialsite.limits import ActionLimits, BytesPerDay
from socialsite.outgoing.requests import OutgoingClient
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.memory_guard import MemoryGuard
from socialsite.recipes.rate_limit import RateLimiter, Rule
from socialsite.service_config import ServiceConfig
from socialsite.site.service import SiteService
from socialsite.store import Store
from timelines import keys
from timelines.fanout.account_purge import request_purge
from timelines.live_updates.service import LiveService
from timelines.previews.verified_links import VerifiedLinkService
from timelines.publishing.blocked_content import BlockedContent
from timelines.search.indexing import SearchIndexer


class AccountServices:
    """The repositories, and the services that need no service of timelines except the publisher of live updates."""

    def __init__(self, store: Store, clock: AnyClock, config: ServiceConfig) -> None:
        self.store = store
        self.clock = clock
        self.config = config
        self.repositories = data = Repositories(store, clock, config)
        self.ids = PostIdGenerator(clock)
        self.outbox = JobQueue(store=store)
        self.memory = MemoryGuard(store, config.memory_reserve)
        self.limits = RateLimiter(store)
        self.rules = {name: Rule(name, limit) for name, limit in config.rate_limits.items()}
        bytes_per_day = BytesPerDay(config.bytes_per_day, config.import_bytes_per_day, config.site_bytes_per_day)
        self.action_limits = ActionLimits(self.limits, self.rules, clock, bytes_per_day)
        self.statistics = Statistics.create(store, clock, {"post": keys.post_totals, "account": account_keys.totals})
        self.meter = self.statistics.meter
        self.live = LiveService(store=store, clock=clock, lag=data.lag)
        self.outgoing = OutgoingClient(config.site_url)
        self.site = SiteService(site_repository=data.site, site_environment=config.site_environment)
        self._build_accounts()
        self._build_sign_in()

    def _build_accounts(self) -> None:
        store, clock, config, data = self.store, self.clock, self.config, self.repositories
        self.security_events = SecurityEvents(store=store, clock=clock)
        self.browsers = BrowserRegistry(store=store, clock=clock)
        self.staff = StaffService(accounts=data.accounts)
        subscriptions = data.push_subscriptions
        self.sessions = SessionService(
            sessions=data.sessions, tokens=data.tokens, accounts=data.accounts, clock=clock,
            on_sessions_ended=(self.live.session_ended, subscriptions.remove), on_session_replaced=subscriptions.move,
        )  # fmt: skip
        self.mail_queue = MailQueue(store)
        self.mail = MailService(
            mails=data.mails, mail_queue=self.mail_queue, accounts=data.accounts, events=self.security_events,
            limits=self.action_limits, limiter=self.limits, clock=clock, site=self.site,
        )  # fmt: skip
        self.search_indexer = SearchIndexer(
            index=data.search_index, names=data.search_names, pending=data.pending_search_posts, posts=data.posts,
            accounts=data.accounts,
        )  # fmt: skip
        self.blocked_content = BlockedContent(site=self.site)
        self.preview_queue = JobQueue(store, "previews", is_heavy=True)
        self.verified_links = VerifiedLinkService(
            accounts=data.accounts, preview_queue=self.preview_queue, outgoing=self.outgoing,
            limits=self.action_limits, clock=clock, link_previews=config.link_previews,
        )  # fmt: skip
        self.accounts = AccountService(
            accounts=data.accounts, end_sessions=self.sessions.end_all, limits=self.action_limits,
            events=self.security_events, browsers=self.browsers, staff=self.staff,
            on_deletion_requested=partial(request_purge, self.outbox),
            on_account_deleted=(self.live.account_closed, self.mail.forget),
            statistics=self.statistics, on_names_changed=self.search_indexer.update_names_if_available, clock=clock,
            deletion_grace_ms=config.deletion_grace_ms, on_password_changed=self.mail.announce_password,
            find_by_address=self.mail.find_by_address, check_texts=self.blocked_content.check_profile,
            on_profile_edited=self.verified_links.request,
        )  # fmt: skip
        self.joining = JoiningService(
            joining=data.joining, accounts=self.accounts, mail=self.mail, mails=data.mails, site=self.site, clock=clock
        )
        self.sanctions = SanctionRecords(sanctions=data.sanctions, limits=self.action_limits, clock=clock)
        self.mail_sending = MailSending(
            mails=data.mails, mail_queue=self.mail_queue, mail=self.mail, accounts=data.accounts, site=self.site,
            clock=clock,
        )  # fmt: skip

    def _build_sign_in(self) -> None:
        store, clock, data = self.store, self.clock, self.repositories
        self.factors = FactorService(
            factors=data.factors, browsers=self.browsers, limits=self.action_limits, events=self.security_events,
            mail=self.mail, clock=clock,
        )  # fmt: skip
        self.passkeys = PasskeyService(
            factors=data.factors, factor_service=self.factors, events=self.security_events, limits=self.action_limits,
            site=self.site, clock=clock,
        )  # fmt: skip
        self.pending_logins = PendingLogins(store=store, accounts=data.accounts)
        self.access_tokens = AccessTokenService(
            tokens=data.tokens, app_tokens=data.app_tokens, sessions=self.sessions, store=store, clock=clock
        )
        self.oauth = OAuthService(
            oauth=data.oauth, access_tokens=self.access_tokens, sessions=self.sessions, mail=self.mail,
            limits=self.action_limits, clock=clock,
        )  # fmt: skip
