"""Rate limits of actions. Services enforce them, so that all interfaces have the same limits.

Actions on one account or post are counted by their URL pattern (timelines/urls.py), before the view reads anything.

A hit counts for the account and for the network address of the caller. One account has the same limit at all its
addresses. The accounts of one address share ACCOUNTS_PER_ADDRESS times the limit: a family, a school or a mobile
network has one address, and one of its accounts cannot use up the limit of all. For a visitor only the address counts.
If the store of the limits is unavailable, the action fails with StoreUnavailable (503). While a server refuses writes,
searches are not counted, so that everything can still be read. If the server's clock is set back, the clock of the
limits follows it; a clock that stood still would prolong the current minute.

Log-ins are counted differently, so that an attacker cannot lock out the owner of an account. A browser that has signed
in to the account before has its own counter. For other browsers, all attempts count for the address, and failed
attempts also count for the handle.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NoReturn

from socialsite.clock import DAY_MS, Clock, FixedClock
from socialsite.errors import AccountSilenced, NewcomerLimited, RateLimited
from socialsite.ids import AccountId
from socialsite.recipes.rate_limit import Decision, Identifier, RateLimiter, Rule, hit_command, prefix_of
from socialsite.service import Service
from socialsite.store.commands import Command
from socialsite.store.errors import StoreError, WritesRefused

ACCOUNTS_PER_ADDRESS = 10
"""Number of accounts at one address that may use their full limit at the same time."""
NETWORKS_PER_PREFIX = 16
"""Number of IPv6 networks (/64) of one prefix (/48) that may use their full limit at the same time."""
NETWORKS_PER_HANDLE = 10
"""Limit of failed log-ins to one handle by unknown browsers, as a multiple of the limit of one network."""

WRITING_RULES = frozenset({"post", "edit", "media", "imports"})
"""The rules that count only actions which a silenced account may not do."""
READING_RULES = frozenset({"search", "complete"})
"""The rules of actions that only read. They are not counted while the server refuses writes."""
NEWCOMER_RULES = frozenset({"post", "posts", "follow", "media"})
"""The rules of which new accounts have a third of the limit."""
NEWCOMER_SHARE = 3
NEWCOMER_FOLLOWS_PER_DAY = 50
ByteWriter = Literal[
    "posts", "edits", "drafts", "descriptions", "notes", "profiles", "filters", "lists", "reports", "appeals",
    "accounts", "invitations", "devices", "codes", "apps", "imports",
]  # fmt: skip
"""The writers of what people send and the store keeps. Imports have bytes of their own, the others share theirs."""
request_address: ContextVar[str] = ContextVar("request_address", default="")
"""The network address of the request that is served (AddressMiddleware), or "" in workers and commands."""
SITE = Identifier.address("site")
"""The identifier of counters of the whole site."""

Hits = list[tuple[Identifier, list[Rule]]]


@dataclass(frozen=True, slots=True)
class BytesPerDay:
    """Bytes that may be written in a day (UTC). 0 is no limit."""

    account: int = 0
    """The limit of an account for all writers but imports. 8 MiB are 16,000 posts of 500 letters."""
    imports: int = 0
    """The limit of an account for imports. 256 MiB are 70,000 posts of 3.7 kB."""
    site: int = 0
    """The limit of all accounts and visitors together. The imports of all accounts have the same limit again."""


NO_BYTE_LIMITS = BytesPerDay()


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request. `account_id` is None for a visitor.

    Services take `Caller | None`. Commands, workers and imports pass None, because they have no limits. If `decisions`
    is a list, the decisions of the limits are added to it, so that the response can name them. The account may
    not write until `silenced_until_ms`.
    """

    account_id: AccountId | None
    address: str
    decisions: list[Decision] | None = field(default=None, compare=False, repr=False)
    silenced_until_ms: int = field(default=0, compare=False, repr=False)
    newcomer_until_ms: int = field(default=0, compare=False)
    """The time until which the account is new and has the limits of newcomers, or 0."""
    planned: int = field(default=1, compare=False)
    """The number of actions of which this is the first. It is refused if a limit has no room for all of them."""


def find_newcomer_end_ms(created_ms: int, newcomer_days: int, now_ms: int) -> int:
    """Return the time until which an account has the limits of new accounts, or 0 if it is not new."""
    until_ms = created_ms + newcomer_days * DAY_MS
    return until_ms if newcomer_days and until_ms > now_ms else 0


def worker_caller(account_id: AccountId, created_ms: int, newcomer_days: int, now_ms: int) -> Caller:
    """Return the caller for work that a worker does for an account."""
    until_ms = find_newcomer_end_ms(created_ms, newcomer_days, now_ms)
    return Caller(account_id, f"worker {account_id}", newcomer_until_ms=until_ms)


def newcomer_caller(account_id: AccountId, created_ms: int, newcomer_days: int, now_ms: int) -> Caller | None:
    """Return the caller for work of a worker for a new account, or None, without limits, for another account."""
    caller = worker_caller(account_id, created_ms, newcomer_days, now_ms)
    return caller if caller.newcomer_until_ms else None


@lru_cache(maxsize=4_096)
def address_factors(address: str, identify: Callable[[str], Identifier] = Identifier.address) -> dict[Identifier, int]:
    """Return the identifiers of an address, each with its limit as a multiple of the limit of one address.

    It is cached, because hashing an address costs more than the middleware.
    """
    return {identify(name): factor for name, factor in limited_names(address).items()}


def limited_names(address: str) -> dict[str, int]:
    """Return the address, and its prefix if it is of IPv6, each with its limit as a multiple of that of one address.

    One client may have all networks of a prefix (RFC 6177, section 2: /48 to /56).
    """
    prefix = prefix_of(address)
    return {address: 1, prefix: NETWORKS_PER_PREFIX} if prefix else {address: 1}


class ActionLimits(Service):
    """Enforces the rules of settings.RATE_LIMITS. An action has no limit if its rule is off or absent."""

    def __init__(
        self, limiter: RateLimiter, rules: Mapping[str, Rule], clock: Clock | FixedClock,
        bytes_per_day: BytesPerDay = NO_BYTE_LIMITS,
    ) -> None:  # fmt: skip
        self._limiter = limiter
        self._bytes_per_day = bytes_per_day
        self._rules = rules
        self._clock = clock

    async def enforce(self, caller: Caller | None, name: str) -> None:
        """Count one action for the account and the address, or for neither if one is over its limit.

        Raises RateLimited, AccountSilenced.
        """
        self._require_rule_allows(caller, name)
        if caller is not None:
            await self._count(self._hits(caller, name), self._clock.server_ms(), caller)

    def require_may_write(self, caller: Caller | None) -> None:
        """Raise AccountSilenced if the account of the caller may not write now."""
        if caller is not None:
            refuse_silenced(caller.silenced_until_ms, self._clock.now_ms())

    def _require_rule_allows(self, caller: Caller | None, name: str) -> None:
        if name in WRITING_RULES:
            self.require_may_write(caller)

    async def enforce_for(self, factors: Mapping[Identifier, int], name: str) -> int:
        """Count one action for all identifiers, or for none if one of them is over its limit.

        The limit of an identifier is the rule's limit times its factor. Returns the time for `refund_for`. Raises
        RateLimited.
        """
        now_ms = self._clock.server_ms()
        await self._count([(one, self._active_rules(name, factor)) for one, factor in factors.items()], now_ms)
        return now_ms

    async def enforce_newcomer_follow(self, caller: Caller | None) -> None:
        """Count a follow of a new account against its daily number. Raises NewcomerLimited. Others have no limit."""
        if caller is None or not caller.newcomer_until_ms or caller.account_id is None:
            return
        limits = {Identifier.account(caller.account_id): NEWCOMER_FOLLOWS_PER_DAY}
        try:
            await self.enforce_daily_for(limits, "follows")
        except RateLimited as refusal:
            raise NewcomerLimited(refusal, caller.newcomer_until_ms) from None

    async def refund_for(self, identifier: Identifier, name: str, at_ms: int) -> None:
        """Subtract a hit. An error of the store is ignored, since the counter expires within two minutes."""
        with suppress(StoreError):
            await self._limiter.refund_all([(identifier, self._active_rules(name))], at_ms)

    async def take_daily(self, caller: Caller | None, name: str, per_day: int, wanted: int) -> int:
        """Count up to `wanted` uses of today for the account and the address. Return how many the limits allow."""
        limits = _daily_limits(caller, per_day)
        if not limits or not wanted:
            return wanted
        return await self._limiter.hit_daily(name, limits, wanted, self._clock.server_ms())

    async def enforce_bytes(self, writer: ByteWriter, owner: Caller | AccountId | None, size_bytes: int) -> None:
        """Count bytes that stay in the store, for their owner and the site, today (UTC). Raises RateLimited.

        The address of the request counts, too; all imports from it have the limit of one account. Its visitors have a
        counter of their own, so that no account keeps them from a sign-up. Commands have no owner (None) and no limits.
        Refused bytes are not counted. Accepted ones stay counted if the action fails later.
        """
        if owner is None or not size_bytes:
            return
        limits, now_ms = self._bytes_per_day, self._clock.server_ms()
        name, per_day = ("importbytes", limits.imports) if writer == "imports" else ("bytes", limits.account)
        caller = owner if isinstance(owner, Caller) else Caller(owner, request_address.get())
        counters = {SITE: limits.site}
        if caller.account_id is None:
            counters |= multiply_limit(address_factors(caller.address, Identifier.visitors), per_day)
        else:
            counters[Identifier.account(caller.account_id)] = per_day
            if caller.address:
                accounts = 1 if writer == "imports" else ACCOUNTS_PER_ADDRESS
                counters |= multiply_limit(address_factors(caller.address), per_day * accounts)
        counters = {each: limit for each, limit in counters.items() if limit}
        granted = await self._limiter.hit_daily(name, counters, size_bytes, now_ms) if counters else size_bytes
        if granted < size_bytes:
            with suppress(StoreError):
                await self._limiter.refund_daily(name, counters, granted, now_ms)
            raise RateLimited(name, (DAY_MS - now_ms % DAY_MS) // 1000 + 1)

    async def refund_daily(self, caller: Caller | None, name: str, unused: int) -> None:
        """Subtract uses that `take_daily` allowed. An error of the store is ignored, since the counter expires."""
        if unused and (limits := _daily_limits(caller, 0)):
            with suppress(StoreError):
                await self._limiter.refund_daily(name, limits, unused, self._clock.server_ms())

    async def enforce_daily_for(self, limits: Mapping[Identifier, int], name: str) -> None:
        """Count one action of today (UTC) for all identifiers, each with its limit. Raises RateLimited."""
        now_ms = self._clock.server_ms()
        if not await self._limiter.hit_daily(name, limits, 1, now_ms):
            raise RateLimited(name, (DAY_MS - now_ms % DAY_MS) // 1000 + 1)

    async def refund_daily_for(self, limits: Mapping[Identifier, int], name: str) -> None:
        """Subtract an action that `enforce_daily_for` counted. An error of the store is ignored."""
        with suppress(StoreError):
            await self._limiter.refund_daily(name, limits, 1, self._clock.server_ms())

    @asynccontextmanager
    async def refundable_daily(self, caller: Caller | None, name: str, per_day: int) -> AsyncIterator[None]:
        """Count one action of today (UTC), and subtract it if the block raises an exception. Raises RateLimited.

        If `per_day` is 0, there is no limit. Raises AccountSilenced.
        """
        self._require_rule_allows(caller, name)
        if caller is not None and caller.newcomer_until_ms and name in NEWCOMER_RULES:
            per_day = -(-per_day // NEWCOMER_SHARE)
        room = per_day - (caller.planned if caller else 1) + 1
        if per_day and not await self.take_daily(caller, name, room, 1):
            raise_for(caller, RateLimited(name, (DAY_MS - self._clock.server_ms() % DAY_MS) // 1000 + 1))
        try:
            yield
        except Exception:
            await self.refund_daily(caller, name, min(per_day, 1))
            raise

    @asynccontextmanager
    async def refundable(self, caller: Caller | None, name: str) -> AsyncIterator[None]:
        """Count one action, and subtract it if the block raises an exception. Raises RateLimited, AccountSilenced.

        It is for actions whose failure is harmless; failed log-ins must stay counted and use `enforce`. If the block
        is cancelled, the action stays counted: its effect is unknown, and a disconnect must not avoid the limit.
        """
        self._require_rule_allows(caller, name)
        if caller is None:
            yield
            return
        hits, now_ms = self._hits(caller, name), self._clock.server_ms()
        try:
            await self._count(hits, now_ms, caller)
        except WritesRefused:
            if name not in READING_RULES:
                raise
        try:
            yield
        except Exception:
            with suppress(StoreError):  # the counter expires within two minutes
                await self._limiter.refund_all(hits, now_ms)
            raise

    def address_commands(self, address: str) -> list[Command]:
        """Return the commands that count a request of the address, or an empty list if the rule is off.

        They are sent in the batch that reads the session. `raise_if_refused` checks their parsed replies.
        """
        hits, now_ms = self._address_hits(address, "address"), self._clock.server_ms()
        return [hit_command(identifier, rules, now_ms) for identifier, rules in hits if rules]

    def _active_rules(self, name: str, factor: int = 1) -> list[Rule]:
        rule = self._rules.get(name)
        return [Rule(name, rule.limit * factor)] if rule is not None and rule.limit is not None else []

    def find_limit(self, caller: Caller | None, name: str) -> int | None:
        """Return how many such actions the caller may do in a minute, or None if there is no limit."""
        hits = [] if caller is None else self._hits(caller, name)[:1]
        return next((rule.limit for _identifier, rules in hits for rule in rules), None)

    def _hits(self, caller: Caller, name: str) -> Hits:
        rules = self._active_rules(name)
        if caller.account_id is None:
            return self._address_hits(caller.address, name)
        if caller.newcomer_until_ms and name in NEWCOMER_RULES:
            rules = [Rule(name, -(-(rule.limit or 0) // NEWCOMER_SHARE)) for rule in rules]
        by_account = (Identifier.account(caller.account_id), rules)
        hits = [by_account, *self._address_hits(caller.address, name, ACCOUNTS_PER_ADDRESS)]
        return [(identifier, _leave_room(rules, caller.planned)) for identifier, rules in hits]

    def _address_hits(self, address: str, name: str, accounts: int = 1) -> Hits:
        factors = address_factors(address).items()
        return [(identifier, self._active_rules(name, factor * accounts)) for identifier, factor in factors]

    async def _count(self, hits: Hits, now_ms: int, caller: Caller | None = None) -> None:
        decision = await self._limiter.hit_all(hits, now_ms)
        if caller is not None and caller.decisions is not None:
            caller.decisions.append(decision)
        if not decision.granted:
            raise_for(caller, RateLimited(decision.rule, decision.retry_after_s))


def _leave_room(rules: list[Rule], planned: int) -> list[Rule]:
    """Return rules that grant a hit only if `planned` hits are possible."""
    return rules if planned == 1 else [Rule(rule.name, max(1, (rule.limit or 0) - planned + 1)) for rule in rules]


def _daily_limits(caller: Caller | None, per_day: int) -> dict[Identifier, int]:
    if caller is None or caller.account_id is None:
        return {}
    of_address = multiply_limit(address_factors(caller.address), per_day * ACCOUNTS_PER_ADDRESS)
    return {Identifier.account(caller.account_id): per_day, **of_address}


def multiply_limit(factors: Mapping[Identifier, int], limit: int) -> dict[Identifier, int]:
    return {identifier: factor * limit for identifier, factor in factors.items()}


def refuse_silenced(until_ms: int, now_ms: int) -> None:
    """Raise AccountSilenced if an account that is silenced until `until_ms` may not write now."""
    if until_ms > now_ms:
        raise AccountSilenced(until_ms)


def raise_for(caller: Caller | None, refusal: RateLimited) -> NoReturn:
    """Raise the refusal. If the account is new, its message says until when the limits of newcomers apply."""
    if caller is not None and caller.newcomer_until_ms and refusal.rule in NEWCOMER_RULES:
        raise NewcomerLimited(refusal, caller.newcomer_until_ms)
    raise refusal


def raise_if_refused(decision: Decision) -> None:
    """Raise RateLimited unless the decision grants the request."""
    if not decision.granted:
        raise RateLimited(decision.rule, decision.retry_after_s)
