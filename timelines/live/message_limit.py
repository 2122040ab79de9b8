"""Limits the messages of a client: the SOCKET rule applies to its account, or to its address if it has no account."""

from dataclasses import dataclass, field
from enum import Enum

from socialsite.analytics.meter import Meter
from socialsite.analytics.metrics import REFUSALS
from socialsite.ids import TimeSource
from socialsite.recipes.rate_limit import MINUTE_MS, Identifier, RateLimiter, Rule
from socialsite.store.errors import StoreError

STORE_BACKOFF_MS = 5_000
"""Messages are not counted for this time after an error of the store, so that clients can continue to read."""


class MessageDecision(Enum):
    GRANTED = "granted"
    REFUSED = "refused"
    FLOOD = "flood"


@dataclass(slots=True, eq=False)
class MessageLimit:
    """Applies the rule to one socket. Redis counts the messages of all sockets of an account.

    A flood on one socket is detected in memory.
    """

    limiter: RateLimiter
    rule: Rule
    identifier: Identifier
    clock: TimeSource
    meter: Meter
    _current_minute: int = field(default=0, init=False)
    _messages_this_minute: int = field(default=0, init=False)
    _refused_until_ms: int = field(default=0, init=False)
    _backoff_until_ms: int = field(default=0, init=False)

    async def count_message(self) -> MessageDecision:
        """Count one message. Returns FLOOD if the socket has sent more than twice the limit in this minute."""
        decision = await self._decide()
        if decision is not MessageDecision.GRANTED:
            self.meter.count(REFUSALS, self.rule.name)
        return decision

    async def _decide(self) -> MessageDecision:
        limit, now_ms = self.rule.limit, self.clock.now_ms()
        if limit is None:
            return MessageDecision.GRANTED
        if self._current_minute != now_ms // MINUTE_MS:
            self._current_minute, self._messages_this_minute = now_ms // MINUTE_MS, 0
        self._messages_this_minute += 1
        if self._messages_this_minute > 2 * limit:
            return MessageDecision.FLOOD
        if now_ms < self._refused_until_ms:
            return MessageDecision.REFUSED
        return MessageDecision.GRANTED if now_ms < self._backoff_until_ms else await self._hit(now_ms)

    async def _hit(self, now_ms: int) -> MessageDecision:
        try:
            decision = await self.limiter.hit(self.identifier, [self.rule], now_ms)
        except StoreError:
            self._backoff_until_ms = now_ms + STORE_BACKOFF_MS
            return MessageDecision.GRANTED
        if decision.granted:
            return MessageDecision.GRANTED
        self._refused_until_ms = now_ms + 1000  # at most one hit of the store per second during a burst
        return MessageDecision.REFUSED
