"""How often a client may speak: the SOCKET rule of its account, or of its address where nobody signed in."""

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from socialsite.recipes.rate_limit import MINUTE_MS, Identifier, RateLimiter, Rule
from socialsite.store.errors import StoreError

STORE_BACKOFF_MS = 5_000
"""After trouble with the store it is not asked for so long: reading fails open, and quickly."""


class MillisecondClock(Protocol):
    def now_ms(self) -> int: ...


class MessageDecision(Enum):
    GRANTED = "granted"
    REFUSED = "refused"
    FLOOD = "flood"


class MessageLimit:
    """The rule counts all sockets of a subject in the store; a flood is seen here, without asking anybody."""

    def __init__(
        self,
        limits: RateLimiter,
        rule: Rule,
        subject: Identifier,
        clock: MillisecondClock,
        on_refused: Callable[[str], None] = lambda rule: None,
    ) -> None:
        self._limits = limits
        self._rule = rule
        self._subject = subject
        self._clock = clock
        self._on_refused = on_refused
        self._current_minute = 0
        self._messages_this_minute = 0
        self._refused_until_ms = 0
        self._backoff_until_ms = 0

    async def count_message(self) -> MessageDecision:
        """One more message. FLOOD: more than twice the limit within a minute."""
        answer = await self._decide()
        if answer is not MessageDecision.GRANTED:
            self._on_refused(self._rule.name)
        return answer

    async def _decide(self) -> MessageDecision:
        limit, now_ms = self._rule.limit, self._clock.now_ms()
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
            verdict = await self._limits.hit(self._subject, [self._rule], now_ms)
        except StoreError:
            self._backoff_until_ms = now_ms + STORE_BACKOFF_MS
            return MessageDecision.GRANTED
        if verdict.granted:
            return MessageDecision.GRANTED
        self._refused_until_ms = now_ms + 1000  # asked again each second, not for each message of a burst
        return MessageDecision.REFUSED
