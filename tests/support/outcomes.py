"""The outcome of a request as a word, and the longest time without a success."""

import time
from http import HTTPStatus

import httpx


def outcome_of(answer: httpx.Response) -> str:
    """Return the status, with a note if a 503 lacks Retry-After."""
    is_mute = answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE and "Retry-After" not in answer.headers
    return f"{answer.status_code}{' without Retry-After' if is_mute else ''}"


class SuccessGaps:
    """The longest time that any client went without a success."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._last: dict[str, float] = {}

    def record(self, client: str, outcome: str) -> None:
        if outcome[:1] in "2":
            now = time.monotonic()
            self.longest_s = max(self.longest_s, now - self._last.get(client, now))
            self._last[client] = now
