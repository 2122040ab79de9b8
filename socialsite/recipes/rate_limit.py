"""Rate limits: INCR keys per minute, two adjacent ones weighted into a sliding minute.

With `previous` hits counted in the minute before, `current` in this one and `elapsed` ms of it gone, a hit is
granted iff

    (current + 1) * 60_000 + previous * (60_000 - elapsed) <= limit * 60_000

in integers, nothing rounded (rounding down would let a burst across the edge reach 2 * limit). Only granted
hits count. So the clock's edge gives no second burst: at most `limit` in any minute of the clock, and at most
2 * limit - 1 in any true 60 s (all of them late in one minute, the rest of them late in the next).

The rules of one subject lie under one tag and are decided by one script, all or nothing. Two subjects (an
account and an address) may lie on two nodes: `hit_all` asks both and takes back what only one granted.
`now_ms` is the server's time as the caller's clock keeps it.
"""

import hashlib
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from socialsite.store import Command, Key, Reply, Store, load_script

MINUTE_MS = 60_000
HIT = load_script("rate_limit.lua", __package__)
REFUND = load_script("rate_limit_refund.lua", __package__)


@dataclass(frozen=True, slots=True)
class Rule:
    """At most `limit` hits a minute for each subject; None: off. `name` is a fixed word, never user text."""

    name: str
    limit: int | None

    def __post_init__(self) -> None:
        if not (self.name.isascii() and self.name.isalpha() and self.name.islower()):
            raise ValueError(f"a rule's name is one lower-case word, not {self.name!r}")
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"the limit of {self.name} must be at least 1 a minute; None switches it off")


@dataclass(frozen=True, slots=True)
class Identifier:
    """Whose hits are counted; its tag places all its counters on one node."""

    tag: str

    @classmethod
    def account(cls, account_id: int) -> Self:
        return cls(f"a{account_id}")

    @classmethod
    def address(cls, text: str) -> Self:
        """A network address. An IPv6 client owns its /64 and may send from any of it, so the /64 counts."""
        return cls(_digest(f"address {network_of(text)}"))

    @classmethod
    def handle(cls, text: str) -> Self:
        """A handle that somebody tries to log in with, whether such an account exists or not."""
        return cls(_digest(f"handle {text.casefold()}"))


@dataclass(frozen=True, slots=True)
class Decision:
    """`rule` refused, and would grant after `retry_after_s` whole seconds if nothing else came."""

    granted: bool
    rule: str = ""
    retry_after_s: int = 0


@dataclass(frozen=True, slots=True)
class WindowStats:
    """What one rule has counted for a subject: `used_milli`: the weighted minute, in thousandths."""

    rule: str
    limit: int | None
    current: int
    previous: int
    used_milli: int


GRANTED = Decision(granted=True)


def counter_key(subject: Identifier, rule: Rule, minute: int) -> Key:
    """STRING, hits of `subject` under `rule` in one minute since 1970; lives 120 s from its first hit."""
    return Key("limits", tag=subject.tag, name=f"{rule.name}:{minute}")


def hit_command(subject: Identifier, rules: Sequence[Rule], now_ms: int) -> Command:
    """One more hit, for a pipeline of the caller; read the reply with `parse_decision`."""
    minute, elapsed = divmod(now_ms, MINUTE_MS)
    keys = [counter_key(subject, rule, minute - back) for rule in rules for back in (0, 1)]
    args = [argument for rule in rules for argument in (rule.name, rule.limit or 0)]
    return HIT.command(keys, [elapsed, *args])


def parse_decision(reply: Reply) -> Decision:
    """The verdict in the reply to a `hit_command`."""
    granted, rule, wait_ms = reply
    return GRANTED if granted else Decision(False, rule.decode(), max(1, -(-int(wait_ms) // 1000)))


def refund_command(subject: Identifier, rules: Sequence[Rule], now_ms: int) -> Command:
    """Takes back one granted hit; `now_ms` is the one it was granted with."""
    return REFUND.command([counter_key(subject, rule, now_ms // MINUTE_MS) for rule in _active_rules(rules)])


class RateLimiter:
    """Limits over a store. Store trouble raises StoreUnavailable: the caller fails open or closed."""

    def __init__(self, store: Store) -> None:
        self._limits = store.component("limits")

    async def hit(self, subject: Identifier, rules: Sequence[Rule], now_ms: int) -> Decision:
        """Count one hit under all `rules`, or under none if one of them refuses."""
        return await self.hit_all([(subject, rules)], now_ms)

    async def hit_all(self, asked: Sequence[tuple[Identifier, Sequence[Rule]]], now_ms: int) -> Decision:
        """Count one hit for each subject in one pipeline, and take it back where another one refused.

        Between hit and refund a concurrent caller sees the hit: it may be refused too early, never granted
        too much. If the refund is lost, the counter forgets it by itself within two minutes.
        """
        asked = [(subject, rules) for subject, rules in asked if _active_rules(rules)]
        replies = await self._limits.gather([hit_command(subject, rules, now_ms) for subject, rules in asked])
        verdicts = [parse_decision(reply) for reply in replies]
        refusals = [verdict for verdict in verdicts if not verdict.granted]
        if not refusals:
            return GRANTED
        granted = [pair for pair, verdict in zip(asked, verdicts, strict=True) if verdict.granted]
        await self._limits.gather([refund_command(*pair, now_ms) for pair in granted])
        return max(refusals, key=lambda verdict: verdict.retry_after_s)

    async def refund_all(self, granted: Sequence[tuple[Identifier, Sequence[Rule]]], now_ms: int) -> None:
        """Take back what `hit_all` granted with `now_ms`: the action it was counted for did not happen."""
        await self._limits.gather([refund_command(*pair, now_ms) for pair in granted if _active_rules(pair[1])])

    async def read_stats(self, subject: Identifier, rules: Sequence[Rule], now_ms: int) -> list[WindowStats]:
        """What an operator sees; counts nothing."""
        minute, elapsed = divmod(now_ms, MINUTE_MS)
        keys = [counter_key(subject, rule, minute - back) for rule in rules for back in (0, 1)]
        counts = [int(reply or 0) for reply in await self._limits.gather([("GET", key) for key in keys])]
        return [
            WindowStats(rule.name, rule.limit, current, previous, used_milli(current, previous, elapsed))
            for rule, current, previous in zip(rules, counts[::2], counts[1::2], strict=True)
        ]

    async def clear(self, subject: Identifier, rules: Sequence[Rule], now_ms: int) -> bool:
        """Forget what was counted; True if anything was."""
        minute = now_ms // MINUTE_MS
        keys = [counter_key(subject, rule, minute - back) for rule in rules for back in (0, 1)]
        return any(await self._limits.gather([("DEL", key) for key in keys]))


def used_milli(current: int, previous: int, elapsed: int) -> int:
    """The weighted minute in thousandths of a hit, rounded up."""
    return -(-(current * MINUTE_MS + previous * (MINUTE_MS - elapsed)) // (MINUTE_MS // 1000))


def network_of(text: str) -> str:
    """The address as it is counted: IPv4 whole (also mapped into IPv6), IPv6 by its /64, else the text."""
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        return text
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))
        return str(address.ipv4_mapped)
    return str(address)


def _active_rules(rules: Sequence[Rule]) -> list[Rule]:
    return [rule for rule in rules if rule.limit is not None]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
