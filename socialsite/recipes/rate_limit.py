"""Rate limits: one counter per minute, and two adjacent counters weighted into a sliding minute.

With `previous` hits in the previous minute, `current` hits in this minute and `elapsed` ms of this minute gone, a
hit is granted if and only if

    (current + 1) * 60_000 + previous * (60_000 - elapsed) <= limit * 60_000

in integers, without rounding. (Rounding down would allow bursts of up to 2 * limit around the change of the minute.)
Only granted hits are counted. At most `limit` hits are granted in any minute of the clock, and at most
2 * limit - 1 in any 60 seconds: `limit` hits late in one minute and the other hits late in the next minute.

All counters of one identifier have one tag. One script decides all its rules, and counts the hit under all of them or
under none. Two identifiers (an account and an address) may belong to two nodes. `hit_all` counts the hit for both; if
one identifier refuses, the hit of the other is taken back. `now_ms` is the caller's estimate of the server's time.
"""

import hashlib
import ipaddress
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from socialsite.clock import DAY_MS
from socialsite.store import Command, Key, Reply, Store, load_script
from socialsite.store.key_families import TEMPORARY, key_family

MINUTE_MS = 60_000
HIT, REFUND = (load_script(f"rate_limit_{name}.lua", __package__) for name in ("hit", "refund"))


@dataclass(frozen=True, slots=True)
class Rule:
    """At most `limit` hits a minute for each identifier. None switches the rule off. `name` is never user text."""

    name: str
    limit: int | None

    def __post_init__(self) -> None:
        if not (self.name.isascii() and self.name.isalpha() and self.name.islower()):
            raise ValueError(f"a rule's name is one lower-case word, not {self.name!r}")
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"the limit of {self.name} must be at least 1 a minute; None switches it off")


@dataclass(frozen=True, slots=True)
class Identifier:
    """The account, address, browser or handle that is limited. Its tag puts all its counters on one node."""

    tag: str

    @classmethod
    def account(cls, account_id: int) -> Self:
        return cls(f"a{account_id}")

    @classmethod
    def address(cls, text: str) -> Self:
        """Identify a network address. An IPv6 client can use its whole /64 network, so the network is limited."""
        return cls(_digest(f"address {network_of(text)}"))

    @classmethod
    def visitors(cls, text: str) -> Self:
        """Identify those who have no account and share a network address."""
        return cls(_digest(f"visitors {network_of(text)}"))

    @classmethod
    def browser(cls, text: str) -> Self:
        """Identify a browser in which an account was signed in before. `text` is the random text of its cookie."""
        return cls(_digest(f"browser {text}"))

    @classmethod
    def handle(cls, text: str) -> Self:
        """Identify a handle with which a client tries to log in, whether or not the account exists."""
        return cls(_digest(f"handle {text.casefold()}"))


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a hit was granted. If not, `rule` refused it and would grant it after `retry_after_s` seconds.

    If it was granted, `rule` is the one that allows the fewest further hits, `remaining`. Without rules, `limit` is 0.
    """

    granted: bool
    rule: str = ""
    retry_after_s: int = 0
    remaining: int = 0
    limit: int = 0


@dataclass(frozen=True, slots=True)
class WindowStats:
    """The hits of one identifier under one rule. `used_milli` is the weighted sum in thousandths of a hit."""

    rule: str
    limit: int | None
    current: int
    previous: int
    used_milli: int


IdentifierRules = tuple[Identifier, Sequence[Rule]]
GRANTED = Decision(granted=True)


_counter_key: Callable[[str, str, int], Key] = key_family("limits:{<caller>}:<rule>:<minute>", "string",
    "hits in one minute of an account (`a<id>`), an address, or a handle or a known browser at log-in", role=TEMPORARY,
    lifetime="2 min from the first hit")  # fmt: skip
_daily_counter_key: Callable[[str, str, int], Key] = key_family("limits:{<caller>}:<rule>:d<day>", "string",
    "uses of an account in one day (UTC): posts, new hashtags, follows of a new account, reports, exports, imports,"
    " previews, wrong codes, bytes of posts and of imports; the same of an address, bytes of the site, new apps of an"
    " address and of the site, wrong codes of a known browser, or mails of a kind (`mailreset13` of an hour, ...) to an"
    " address by its keyed digest", role=TEMPORARY, lifetime="2 days from the last one")  # fmt: skip


def counter_key(identifier: Identifier, rule: Rule, minute: int) -> Key:
    return _counter_key(identifier.tag, rule.name, minute)


def daily_counter_key(identifier: Identifier, name: str, day: int) -> Key:
    return _daily_counter_key(identifier.tag, name, day)


def hit_command(identifier: Identifier, rules: Sequence[Rule], now_ms: int) -> Command:
    """Return the command that counts one hit, for the caller's pipeline; `parse_decision` parses its reply."""
    elapsed = now_ms % MINUTE_MS
    args = [argument for rule in rules for argument in (rule.name, rule.limit or 0)]
    return HIT.command(_window_keys(identifier, rules, now_ms), [elapsed, *args])


def parse_decision(reply: Reply) -> Decision:
    granted, rule, number, limit = reply
    if granted:
        return Decision(True, rule.decode(), remaining=int(number), limit=int(limit))
    return Decision(False, rule.decode(), max(1, -(-int(number) // 1000)), limit=int(limit))


def refund_command(identifier: Identifier, rules: Sequence[Rule], now_ms: int) -> Command:
    """Return the command that subtracts one granted hit; `now_ms` is the time of that hit."""
    return REFUND.command([counter_key(identifier, rule, now_ms // MINUTE_MS) for rule in _active_rules(rules)])


class RateLimiter:
    """Rate limits in a store. If a method raises StoreUnavailable, the caller decides whether to grant the hit."""

    def __init__(self, store: Store) -> None:
        self._limits = store.component("limits")

    async def hit(self, identifier: Identifier, rules: Sequence[Rule], now_ms: int) -> Decision:
        """Count one hit under all `rules`, or under none if one of them refuses."""
        return await self.hit_all([(identifier, rules)], now_ms)

    async def hit_all(self, hits: Sequence[IdentifierRules], now_ms: int) -> Decision:
        """Count one hit for each identifier in one pipeline. If one refuses, take back the hits of the others.

        A concurrent caller may be refused too early between hit and refund, but is never granted too many hits. If the
        refund is lost, the counter expires within two minutes.
        """
        hits = [(identifier, rules) for identifier, rules in hits if _active_rules(rules)]
        replies = await self._limits.execute_all([hit_command(identifier, rules, now_ms) for identifier, rules in hits])
        decisions = [parse_decision(reply) for reply in replies]
        refusals = [decision for decision in decisions if not decision.granted]
        if not refusals:
            return min(decisions, key=lambda decision: decision.remaining, default=GRANTED)
        await self.refund_all([hit for hit, decision in zip(hits, decisions, strict=True) if decision.granted], now_ms)
        return max(refusals, key=lambda decision: decision.retry_after_s)

    async def refund_all(self, hits: Sequence[IdentifierRules], now_ms: int) -> None:
        """Subtract hits that were granted at `now_ms`, because the counted action did not happen."""
        commands = [refund_command(identifier, rules, now_ms) for identifier, rules in hits if _active_rules(rules)]
        await self._limits.execute_all(commands)

    async def hit_daily(self, name: str, limits: Mapping[Identifier, int], hits: int, now_ms: int) -> int:
        """Count up to `hits` hits of this day (UTC) for all identifiers. Return the number that every limit allows.

        A concurrent caller may get fewer hits than its limits allow, but never more.
        """
        counters = [daily_counter_key(identifier, name, now_ms // DAY_MS) for identifier in limits]
        adds: list[Command] = [("INCRBY", key, hits) for key in counters]
        counts: list[int] = await self._limits.execute_all([*adds, *(("PEXPIRE", key, 2 * DAY_MS) for key in counters)])
        room = (limit + hits - count for limit, count in zip(limits.values(), counts, strict=False))
        granted = max(0, min(hits, *room))
        if granted < hits:
            await self.refund_daily(name, limits, hits - granted, now_ms)
        return granted

    async def refund_daily(self, name: str, identifiers: Iterable[Identifier], hits: int, now_ms: int) -> None:
        """Subtract hits of this day that `hit_daily` granted, because the counted actions did not happen."""
        counters = [daily_counter_key(identifier, name, now_ms // DAY_MS) for identifier in identifiers]
        refunds: list[Command] = [("DECRBY", key, hits) for key in counters]
        await self._limits.execute_all([*refunds, *(("PEXPIRE", key, 2 * DAY_MS) for key in counters)])

    async def read_stats(self, identifier: Identifier, rules: Sequence[Rule], now_ms: int) -> list[WindowStats]:
        """Return the counters of each rule for operators. No hit is counted."""
        elapsed = now_ms % MINUTE_MS
        replies = await self._limits.execute_all([("GET", key) for key in _window_keys(identifier, rules, now_ms)])
        counts = [int(reply or 0) for reply in replies]
        return [
            WindowStats(rule.name, rule.limit, current, previous, used_milli(current, previous, elapsed))
            for rule, current, previous in zip(rules, counts[::2], counts[1::2], strict=True)
        ]

    async def clear(self, identifier: Identifier, rules: Sequence[Rule], now_ms: int) -> bool:
        """Delete the counters. Return whether any existed."""
        return any(await self._limits.execute_all([("DEL", key) for key in _window_keys(identifier, rules, now_ms)]))


def _window_keys(identifier: Identifier, rules: Sequence[Rule], now_ms: int) -> list[Key]:
    """Return the counters of each rule: of this minute and of the previous minute."""
    minute = now_ms // MINUTE_MS
    return [counter_key(identifier, rule, minute - back) for rule in rules for back in (0, 1)]


def used_milli(current: int, previous: int, elapsed: int) -> int:
    """Return the weighted sum of both minutes in thousandths of a hit, rounded up."""
    return -(-(current * MINUTE_MS + previous * (MINUTE_MS - elapsed)) // (MINUTE_MS // 1000))


def network_of(text: str) -> str:
    """Return the IPv4 address (also if mapped into IPv6) or the IPv6 /64 network. Other texts are unchanged."""
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        return text
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))
        return str(address.ipv4_mapped)
    return str(address)


def prefix_of(text: str) -> str:
    """Return the /48 of an IPv6 address, or "" for any other text."""
    with suppress(ValueError):
        address = ipaddress.IPv6Address(text.strip())
        if address.ipv4_mapped is None:
            return str(ipaddress.IPv6Network((int(address) >> 80 << 80, 48)))
    return ""


def _active_rules(rules: Sequence[Rule]) -> list[Rule]:
    return [rule for rule in rules if rule.limit is not None]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
