"""Acknowledged requests, and a check that they survive while processes are killed."""

import contextlib
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

import httpx

from tests.support.visitor import JSON_HEADERS, HttpVisitor, JsonObject


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


REQUEST_INTERVAL_S = 0.02

"""Seconds between two requests of a client, and before a retry."""


@dataclass
class LedgerEntry:
    """One post that a client publishes. `post_id` is set when it is acknowledged; some are deleted again."""

    key: str
    author: str
    text: str
    post_id: str | None = None
    delete_asked: bool = False
    is_deleted: bool = False


class RequestLedger:
    """A log of JSON lines, each flushed before the client continues. `outcomes` counts all answers.

    `gaps` records for how long a client could not write or not read.
    """

    def __init__(self, file: Path) -> None:
        self.entries: dict[str, LedgerEntry] = {}
        self.outcomes: Counter[str] = Counter()
        self.ghosts: list[str] = []
        self.gaps = {"write": SuccessGaps(), "read": SuccessGaps()}
        self._file = file.open("a")
        self._lock = threading.Lock()

    def record_attempt(self, author: str, text: str, key: str) -> LedgerEntry:
        entry = LedgerEntry(key, author, text)
        with self._lock:
            self.entries[key] = entry
            self._write({"key": key, "author": author, "text": text})
        return entry

    def record_outcome(self, entry: LedgerEntry, outcome: str, post_id: str | None = None) -> None:
        with self._lock:
            self.outcomes[outcome] += 1
            self.gaps["write"].record(entry.author, outcome)
            entry.post_id = post_id
            self._write({"key": entry.key, "outcome": outcome, "post": post_id})

    def record_delete_attempt(self, entry: LedgerEntry) -> None:
        with self._lock:
            entry.delete_asked = True
            self._write({"key": entry.key, "delete": entry.post_id})

    def record_delete_outcome(self, entry: LedgerEntry, outcome: str) -> None:
        """Record the answer. 404 also counts as deleted: an earlier attempt may have succeeded without an answer."""
        with self._lock:
            self.outcomes[f"delete {outcome}"] += 1
            entry.is_deleted = outcome in ("200", "404")
            self._write({"key": entry.key, "outcome of delete": outcome})

    def record_ghost(self, entry: LedgerEntry, where: str) -> None:
        with self._lock:
            self.ghosts.append(f"{where}: {entry.text}, although its deletion was acknowledged")

    def record_read(self, outcome: str, reader: str = "") -> None:
        with self._lock:
            self.outcomes[f"read {outcome}"] += 1
            self.gaps["read"].record(reader, outcome)

    def record_follow(self, follower: str, outcome: str) -> None:
        with self._lock:
            self.outcomes[f"follow {outcome}"] += 1
            self.gaps["write"].record(f"follows of {follower}", outcome)

    @property
    def acknowledged(self) -> list[LedgerEntry]:
        return [entry for entry in self.entries.values() if entry.post_id]

    def close(self) -> None:
        self._file.close()

    def _write(self, line: dict[str, str | None]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()


class ClientThreads:
    """Clients that act in threads until they are stopped."""

    _threads: list[threading.Thread]
    _stopping: threading.Event

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop the clients. Each repeats its current request until it gets an answer."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self._threads), "a client still waits for its answer"


class LedgerClients(ClientThreads):
    """Authors who publish and read their homes continuously until `stop()`.

    `deleting`: share of their posts that they delete immediately, 0 to 1.
    """

    def __init__(
        self, ledger: RequestLedger, people: Sequence[HttpVisitor], seed: int, *, deleting: float = 0.0
    ) -> None:
        self._ledger = ledger
        self._people = people
        self._deleting = deleting
        self._random = random.Random(seed)
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=act, args=(one,)) for one in people for act in (self._publish, self._read)
        ]

    def _publish(self, author: HttpVisitor) -> None:
        number = 0
        while not self._stopping.is_set():
            number += 1
            key = f"{author.handle}-{self._random.getrandbits(64):016x}"
            entry = self._ledger.record_attempt(author.handle, f"{author.handle} says {number}", key)
            while not self._send(author, entry):
                time.sleep(REQUEST_INTERVAL_S)
            if entry.post_id and self._random.random() < self._deleting:
                self._delete(author, entry)
            time.sleep(REQUEST_INTERVAL_S)

    def _delete(self, author: HttpVisitor, entry: LedgerEntry) -> None:
        """Delete until acknowledged. Afterwards no page may show the post."""
        self._ledger.record_delete_attempt(entry)
        while not entry.is_deleted:
            try:
                answer = author.post(f"/posts/{entry.post_id}/delete/")
                self._ledger.record_delete_outcome(entry, outcome_of(answer))
            except httpx.TransportError:
                self._ledger.record_delete_outcome(entry, "no answer")
            time.sleep(REQUEST_INTERVAL_S)
        reader = self._random.choice(self._people)
        for path in ("/", f"/@{entry.author}/", "/public/", f"/@{entry.author}/{entry.post_id}/"):
            with contextlib.suppress(httpx.TransportError):
                answer = reader.http.get(path, headers=JSON_HEADERS)
                if answer.status_code == HTTPStatus.OK and str(entry.post_id) in answer.text:
                    self._ledger.record_ghost(entry, path)

    def _send(self, author: HttpVisitor, entry: LedgerEntry) -> bool:
        """Publish a post. Returns True if no retry is needed."""
        try:
            answer = author.post("/posts/", text=entry.text, idempotency_key=entry.key)
        except httpx.TransportError:
            self._ledger.record_outcome(entry, "no answer")
            return False
        post_id = str(answer.json()["id"]) if answer.status_code == HTTPStatus.CREATED else None
        self._ledger.record_outcome(entry, outcome_of(answer), post_id)
        return answer.status_code != HTTPStatus.SERVICE_UNAVAILABLE

    def _read(self, reader: HttpVisitor) -> None:
        """Read the home in a second client of the same account while posts arrive in it."""
        with HttpVisitor(str(reader.http.base_url)) as second_client:
            second_client.http.cookies.update(reader.http.cookies)
            while not self._stopping.is_set():
                try:
                    answer = second_client.http.get("/", headers=JSON_HEADERS)
                    self._ledger.record_read(outcome_of(answer), reader.handle)
                except httpx.TransportError:
                    self._ledger.record_read("no answer", reader.handle)
                time.sleep(0.2)


@dataclass
class LedgerAudit:
    """Differences between the whole site and the ledger."""

    acknowledged: int = 0
    unacknowledged_but_there: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    ghosts: list[str] = field(default_factory=list)
    outcomes: dict[str, int] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.ghosts)

    def __str__(self) -> str:
        return (
            f"acknowledged {self.acknowledged}, lost {len(self.lost)}, doubled {len(self.doubled)}, "
            f"ghosts {len(self.ghosts)}, unacknowledged but there {self.unacknowledged_but_there}, "
            f"answers {self.outcomes}\n" + "\n".join([*self.lost, *self.doubled, *self.ghosts][:40])
        )


def audit_ledger(ledger: RequestLedger, people: Sequence[HttpVisitor]) -> LedgerAudit:
    """Read every profile and every home. Each of `people` follows all the others."""
    audit = LedgerAudit(acknowledged=len(ledger.acknowledged), outcomes=dict(sorted(ledger.outcomes.items())))
    audit.ghosts += ledger.ghosts
    profiles = {one.handle: one.timeline(f"/@{one.handle}/") for one in people}
    for handle, posts in profiles.items():
        own = [entry for entry in ledger.entries.values() if entry.author == handle]
        _compare(audit, f"profile of {handle}", posts, own)
        acknowledged = {entry.text for entry in own if entry.post_id}
        audit.unacknowledged_but_there += sum(post["text"] not in acknowledged for post in posts)
    present = {post["id"] for posts in profiles.values() for post in posts}
    for one in people:
        where = f"home of {one.handle}"
        home = one.timeline("/")
        _compare(audit, where, home, list(ledger.entries.values()))
        # A post without an acknowledgement may be in a profile; then it must be in the homes too.
        missing = present - {post["id"] for post in home}
        audit.lost += [f"{where}: {id}, which stands in its author's profile" for id in sorted(missing)]
    return audit


def _compare(found: LedgerAudit, where: str, posts: Sequence[JsonObject], wanted: Sequence[LedgerEntry]) -> None:
    ids = Counter(str(post["id"]) for post in posts)
    texts = Counter(post["text"] for post in posts)
    intended = {entry.text for entry in wanted if not entry.is_deleted}
    acknowledged = [entry for entry in wanted if entry.post_id and not entry.delete_asked]
    found.lost += [f"{where}: {entry.post_id} {entry.text}" for entry in acknowledged if str(entry.post_id) not in ids]
    found.doubled += [f"{where}: {text} {count} times" for text, count in texts.items() if count > 1]
    found.ghosts += [f"{where}: {text}" for text in texts if text not in intended]
    if [post["id"] for post in posts] != sorted(ids, key=int, reverse=True):
        found.doubled.append(f"{where}: not in order, or an id twice")
