"""Steady loads on running sites, timed and compared with the ledger."""

import contextlib
import itertools
import math
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import httpx

from tests.support.ledger import (
    REQUEST_INTERVAL_S,
    ClientThreads,
    LedgerAudit,
    LedgerClients,
    RequestLedger,
    audit_ledger,
    outcome_of,
)
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


class TimedLoad(ClientThreads):
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
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the load. Each client repeats its current request until it gets an answer."""
        self.stop()
        self.stalls.__exit__()
        self.ledger.close()

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


PEOPLE, QUIET = 4, 60

DELETE_SHARE = 0.3

MIN_POSTS_AND_FOLLOWS = 20

"""Posts and follows needed for a meaningful result."""

ALLOWED_OUTCOMES = {
    *("201", "503", "read 200", "read 503", "follow 200", "follow 503"),
    *("delete 200", "delete 404", "delete 503"),
}

"""Outcomes that are allowed while servers fail."""


class FollowClients(ClientThreads):
    """Clients of `people` that follow each of `followed` in turn and then unfollow them, until `stop()`.

    The order is fixed, not random: a lost edge must not be repaired by the next request for it.
    """

    def __init__(self, ledger: RequestLedger, people: Sequence[HttpVisitor], followed: Sequence[HttpVisitor]) -> None:
        self.edges: dict[tuple[str, str], bool] = {}
        """The last acknowledged state of each edge."""
        self.acknowledged = 0
        self._ledger = ledger
        self._people = people
        self._followed = followed
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._follow, args=(one,)) for one in people]

    def compare(self, found: LedgerAudit) -> None:
        """Compare the stored edges with the acknowledged edges."""
        for one in self._people:
            stored_handles = handles_at(one, f"/@{one.handle}/following/")
            for (follower, followed), is_following in self.edges.items():
                if follower != one.handle or (followed in stored_handles) == is_following:
                    continue
                wrong = found.lost if is_following else found.ghosts
                wrong.append(f"{follower} {'follows' if is_following else 'unfollowed'} {followed}")

    def _follow(self, one: HttpVisitor) -> None:
        """Follow in a second client, so that an account's posts do not wait for its follows."""
        with HttpVisitor(str(one.http.base_url)) as device:
            device.http.cookies.update(one.http.cookies)
            for account in itertools.cycle(self._followed):
                if self._stopping.is_set():
                    return
                edge = one.handle, account.handle
                should_follow = not self.edges.get(edge, False)
                while not self._ask(device, one, f"/@{account.handle}/{'follow' if should_follow else 'unfollow'}/"):
                    time.sleep(REQUEST_INTERVAL_S)
                self.edges[edge] = should_follow
                self.acknowledged += 1
                time.sleep(4 * REQUEST_INTERVAL_S)

    def _ask(self, device: HttpVisitor, one: HttpVisitor, path: str) -> bool:
        try:
            outcome = outcome_of(device.post(path))
        except httpx.TransportError:
            outcome = "no answer"
        self._ledger.record_follow(one.handle, outcome)
        return not outcome.startswith(("503", "no"))


def handles_at(visitor: HttpVisitor, path: str) -> set[str]:
    """Return the handles on a page of accounts and on its next pages."""
    handles: set[str] = set()
    following: str | None = path
    while following:
        page = visitor.get(following)
        handles |= {account["handle"] for account in page["accounts"]}
        following = page["next"]
    return handles


@dataclass
class LoadOutcome:
    """The results of a load. The times are the longest that one client went without a success."""

    audit: LedgerAudit
    follows: int
    deletions: int
    no_write_s: float
    no_read_s: float
    refusals: dict[str, int] = field(default_factory=dict)

    @property
    def beyond_allowed(self) -> set[str]:
        """Answers that are not allowed."""
        return set(self.audit.outcomes) - ALLOWED_OUTCOMES


class SteadyLoad:
    """Accounts that follow each other and use the site; `with` starts them and waits until they finish."""

    def __init__(self, url: str, directory: Path) -> None:
        self.ledger = RequestLedger(directory / "ledger.jsonl")
        self.people = [HttpVisitor(url, f"person{number}", timeout_s=15).sign_up() for number in range(PEOPLE)]
        quiet = [HttpVisitor(url, f"quiet{number}", timeout_s=15).sign_up() for number in range(QUIET)]
        for one in self.people:
            for followed in self.people:
                if followed is not one:
                    one.follows(followed.handle)
            one.get("/")  # from now on posts are pushed into this home
        self.fans = FollowClients(self.ledger, self.people, quiet)
        self._crowd = LedgerClients(self.ledger, self.people, random.randrange(1 << 32), deleting=DELETE_SHARE)

    def __enter__(self) -> "SteadyLoad":
        self._crowd.start()
        self.fans.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._crowd.stop()
        self.fans.stop()
        self.ledger.close()

    @property
    def has_tried_enough(self) -> bool:
        return min(self.ledger.outcomes["201"], self.fans.acknowledged) > MIN_POSTS_AND_FOLLOWS

    def outcome(self) -> LoadOutcome:
        """Read the whole site when the worker has finished all jobs."""
        audit = audit_ledger(self.ledger, self.people)
        self.fans.compare(audit)
        refused = {name: count for name, count in audit.outcomes.items() if not is_success(name)}
        deletions = sum(entry.is_deleted for entry in self.ledger.entries.values())
        gaps = self.ledger.gaps
        return LoadOutcome(
            audit, self.fans.acknowledged, deletions, gaps["write"].longest_s, gaps["read"].longest_s, refused
        )


def is_success(outcome: str) -> bool:
    return outcome.split()[-1][:1] == "2" or outcome == "delete 404"
