"""A steady load on a running site, and its results by the ledger: posts, deletions, follows and reads.

Clients repeat refused requests until they get an answer, so the expected final state is known.
"""

import itertools
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.support.ledger import REQUEST_INTERVAL_S, LedgerAudit, LedgerClients, RequestLedger, audit_ledger
from tests.support.outcomes import outcome_of
from tests.support.visitor import HttpVisitor

PEOPLE, QUIET = 4, 60
DELETE_SHARE = 0.3
MIN_POSTS_AND_FOLLOWS = 20
"""Posts and follows needed for a meaningful result."""
ALLOWED_OUTCOMES = {
    *("201", "503", "read 200", "read 503", "follow 200", "follow 503"),
    *("delete 200", "delete 404", "delete 503"),
}
"""Outcomes that are allowed while servers fail."""


class FollowClients:
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

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self._threads), "a client still waits for its answer"

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
