"""What users were told, in a word, and for how long they were refused."""

import time
from http import HTTPStatus

import httpx


def outcome_of(answer: httpx.Response) -> str:
    """Its status; a refusal that does not say when to come again says so."""
    is_mute = answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE and "Retry-After" not in answer.headers
    return f"{answer.status_code}{' without Retry-After' if is_mute else ''}"


class SuccessGaps:
    """How long each client went without a success, at most."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._last: dict[str, float] = {}

    def record(self, client: str, outcome: str) -> None:
        if outcome[:1] in "2":
            now = time.monotonic()
            self.longest_s = max(self.longest_s, now - self._last.get(client, now))
            self._last[client] = now
