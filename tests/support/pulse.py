"""A small steady load with timed requests: accounts publish and read, and repeat refused requests.

The ledger (tests/support/ledger.py) records the acknowledged posts; a beat records how long a request took.
"""

import contextlib
import math
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import httpx

from tests.support.ledger import LedgerAudit, RequestLedger, audit_ledger
from tests.support.outcomes import outcome_of
from tests.support.stalls import StallMonitor
from tests.support.visitor import JSON_HEADERS, HttpVisitor
from tests.support.waiting import wait_until


@dataclass(frozen=True)
class TimedRequest:
    """One request, "post" or "read", with its start and end on the monotonic clock."""

    client: str
    what: str
    began: float
    ended: float
    outcome: str

    @property
    def took_s(self) -> float:
        return self.ended - self.began

    @property
    def is_success(self) -> bool:
        return self.outcome[:1] == "2"


class TimedLoad:
    """A load of `people` who follow each other; within `with` they publish and read without pause."""

    def __init__(
        self,
        urls: str | Sequence[str],
        directory: Path,
        *,
        people: int = 3,
        pace_s: float = 0.05,
        timeout_s: float = 15,
    ) -> None:
        self.beats: list[TimedRequest] = []
        self.ledger = RequestLedger(directory / "ledger.jsonl")
        self._urls = [urls] if isinstance(urls, str) else list(urls)
        self._pace_s, self._timeout_s = pace_s, timeout_s
        self._stopping = threading.Event()
        self.stalls = StallMonitor()
        self.people = [self._sign_up(number) for number in range(people)]
        for one in self.people:
            for followed in self.people:
                if followed is not one:
                    one.follows(followed.handle)
            one.get("/")  # from now on posts are pushed into this home
        acts = (self._publish, self._read)
        self._threads = [threading.Thread(target=act, args=(one,)) for one in self.people for act in acts]

    def _sign_up(self, number: int) -> HttpVisitor:
        """Sign up an account; accounts are distributed over the sites of a shared store."""
        url = self._urls[number % len(self._urls)]
        return HttpVisitor(url, f"p{uuid.uuid4().hex[:8]}", timeout_s=self._timeout_s).sign_up()

    def __enter__(self) -> Self:
        self.stalls.__enter__()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the load. Each client repeats its current request until it gets an answer."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(60)
        self.stalls.__exit__()
        self.ledger.close()
        assert not any(thread.is_alive() for thread in self._threads), "a client still waits for its answer"

    @property
    def is_steady(self) -> bool:
        """Whether every client is connected and has had a success."""
        return len({beat.client for beat in self.beats if beat.is_success}) == len(self._threads)

    def audit(self) -> LedgerAudit:
        """Read the whole site and compare it with the ledger."""
        return audit_ledger(self.ledger, self.people)

    @property
    def outcomes(self) -> Counter[str]:
        return Counter(f"{beat.what} {beat.outcome}" for beat in self.beats)

    @property
    def slowest_s(self) -> float:
        return max(beat.took_s for beat in self.beats)

    def percentile_s(self, share: float, *, since: float = 0.0, until: float = math.inf) -> float:
        """Return the percentile of requests started in the period; 0.0 without requests."""
        took = sorted(beat.took_s for beat in self.beats if since <= beat.began < until)
        return took[min(len(took) - 1, int(share * len(took)))] if took else 0.0

    def wait_until_recovered(self, healed: float) -> None:
        """Wait until every client had a success after `healed`; the caller judges the time."""
        wait_until(lambda: len(self._first_successes(healed)) == len(self._threads), timeout_s=60)

    def recovery_time_s(self, healed: float) -> float:
        """Return the seconds from `healed` until every client had a success after it."""
        return max(self._first_successes(healed).values()) - healed

    def _first_successes(self, since: float) -> dict[str, float]:
        """Return the time of each client's first success."""
        later = [beat for beat in self.beats if beat.is_success and beat.ended >= since]
        return {beat.client: beat.ended for beat in reversed(later)}

    def _publish(self, one: HttpVisitor) -> None:
        number = 0
        while not self._stopping.is_set():
            number += 1
            entry = self.ledger.record_attempt(one.handle, f"{one.handle} says {number}", uuid.uuid4().hex)
            while True:
                with self._timed(one, "post") as answers:
                    answers += [one.post("/posts/", text=entry.text, idempotency_key=entry.key)]
                answer = answers[0] if answers else None
                is_there = answer is not None and answer.status_code == 201
                post_id = str(answer.json()["id"]) if is_there and answer is not None else None
                self.ledger.record_outcome(entry, outcome_of(answer) if answer is not None else "no answer", post_id)
                if answer is not None and answer.status_code != 503:
                    break
                time.sleep(self._pace_s)
            time.sleep(self._pace_s)

    def _read(self, one: HttpVisitor) -> None:
        """Read the home in a second client of the same account."""
        with HttpVisitor(str(one.http.base_url), timeout_s=self._timeout_s) as device:
            device.http.cookies.update(one.http.cookies)
            while not self._stopping.is_set():
                with self._timed(one, "read") as answers:
                    answers += [device.http.get("/", headers=JSON_HEADERS)]
                time.sleep(self._pace_s)

    @contextlib.contextmanager
    def _timed(self, one: HttpVisitor, what: str) -> Iterator[list[httpx.Response]]:
        answers: list[httpx.Response] = []
        began = time.monotonic()
        with contextlib.suppress(httpx.TransportError):
            yield answers
        outcome = outcome_of(answers[0]) if answers else "no answer"
        self.beats.append(TimedRequest(f"{one.handle} {what}", what, began, time.monotonic(), outcome))
