"""How often a client may speak: the SOCKET rule of its account, or of its address where nobody signed in."""

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from socialsite.recipes.rate_limit import MINUTE_MS, RateLimiter, Rule, Subject
from socialsite.store.errors import StoreError

REST_MS = 5_000
"""After trouble with the store it is not asked for so long: reading fails open, and quickly."""


class Now(Protocol):
    def now_ms(self) -> int: ...


class Answer(Enum):
    GRANTED = "granted"
    REFUSED = "refused"
    FLOOD = "flood"


class MessageLimit:
    """The rule counts all sockets of a subject in the store; a flood is seen here, without asking anybody."""

    def __init__(
        self,
        limits: RateLimiter,
        rule: Rule,
        subject: Subject,
        clock: Now,
        on_refused: Callable[[str], None] = lambda rule: None,
    ) -> None:
        self._limits = limits
        self._rule = rule
        self._subject = subject
        self._clock = clock
        self._on_refused = on_refused
        self._minute = 0
        self._messages = 0
        self._refused_until_ms = 0
        self._resting_until_ms = 0

    async def ask(self) -> Answer:
        """One more message. FLOOD: more than twice the limit within a minute."""
        answer = await self._answer()
        if answer is not Answer.GRANTED:
            self._on_refused(self._rule.name)
        return answer

    async def _answer(self) -> Answer:
        limit, now_ms = self._rule.limit, self._clock.now_ms()
        if limit is None:
            return Answer.GRANTED
        if self._minute != now_ms // MINUTE_MS:
            self._minute, self._messages = now_ms // MINUTE_MS, 0
        self._messages += 1
        if self._messages > 2 * limit:
            return Answer.FLOOD
        if now_ms < self._refused_until_ms:
            return Answer.REFUSED
        return Answer.GRANTED if now_ms < self._resting_until_ms else await self._hit(now_ms)

    async def _hit(self, now_ms: int) -> Answer:
        try:
            verdict = await self._limits.hit(self._subject, [self._rule], now_ms)
        except StoreError:
            self._resting_until_ms = now_ms + REST_MS
            return Answer.GRANTED
        if verdict.granted:
            return Answer.GRANTED
        self._refused_until_ms = now_ms + 1000  # asked again each second, not for each message of a burst
        return Answer.REFUSED
