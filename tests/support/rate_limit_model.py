"""A plain model of the sliding-window rate limit, with which the script must agree."""

from collections import Counter

MINUTE_MS = 60_000


class RateModel:
    """One rule of one subject."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.minutes: Counter[int] = Counter()
        self.granted_at: list[int] = []

    def would_grant(self, now_ms: int) -> bool:
        minute, elapsed = divmod(now_ms, MINUTE_MS)
        weighted = self.minutes[minute - 1] * (MINUTE_MS - elapsed)
        return (self.minutes[minute] + 1) * MINUTE_MS + weighted <= self.limit * MINUTE_MS

    def hit(self, now_ms: int) -> bool:
        if not self.would_grant(now_ms):
            return False
        self.minutes[now_ms // MINUTE_MS] += 1
        self.granted_at.append(now_ms)
        return True

    def retry_after_s(self, now_ms: int) -> int:
        """Return the seconds until a grant, found by trying each second."""
        return next(second for second in range(1, 181) if self.would_grant(now_ms + 1000 * second))

    def worst_minute(self) -> int:
        """Return the largest number of hits granted in any 60 s."""
        return max(
            (sum(start <= at < start + MINUTE_MS for at in self.granted_at) for start in self.granted_at), default=0
        )
