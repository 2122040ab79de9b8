"""A whole site is moved from its embedded server to a cluster and back while people use it.

Every acknowledged post, deletion and follow is compared with the data at the end. `LEDGER_SECONDS=20` makes the
quiet parts longer; figures are printed (`pytest -s`).
"""

import itertools
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.support.cluster import RedisCluster
from tests.support.daphnes import NO_LIMITS, ROOT
from tests.support.ledger import LedgerClients, RequestLedger, audit_ledger
from tests.support.sites import QuickstartSite, running_site
from tests.support.stalls import StallMonitor
from tests.support.visitor import HttpVisitor, sign_up_circle
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

QUIET_S = float(os.environ.get("LEDGER_SECONDS", "2"))
PEOPLE = 4
PROBE_PAUSE_S = 0.02
ENOUGH = 50
"""Minimum of acknowledged posts."""
REAL_SETTINGS = {"DJANGO_SETTINGS_MODULE": "socialsite.settings"}
ALLOWED = {"200", "201", "303", "404", "503", "read 200", "read 503", "delete 200", "delete 404", "delete 503"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuickstartSite]:
    with running_site(tmp_path_factory.mktemp("moving") / "data", **NO_LIMITS) as running:
        yield running


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    running = RedisCluster().start()
    yield running
    running.stop()


@dataclass
class Probe:
    """Follows, unfollows, posts and reads all the time; records durations and acknowledged changes."""

    one: HttpVisitor
    other: HttpVisitor
    phase: str = "before"
    took_s: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    follows: bool | None = None
    """The last acknowledged state; None if the last request was not acknowledged."""
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        for number in itertools.count():
            if self.stopping.is_set():
                return
            follow = not self.follows
            word = "follow" if follow else "unfollow"
            self.follows = follow if self._timed("write", word, f"/@{self.other.handle}/{word}/") else None
            self._timed("write", "post", "/posts/", text=f"probe {number}")
            self._timed("read", "home", "/")
            time.sleep(PROBE_PAUSE_S)

    def _timed(self, kind: str, what: str, path: str, **form: str) -> bool:
        phase, began = self.phase, time.monotonic()
        try:
            answer = self.one.http.get(path) if kind == "read" else self.one.post(path, **form)
            status = answer.status_code
        except httpx.TransportError:
            status = 0
        self.took_s.setdefault((phase, kind), []).append(time.monotonic() - began)
        self.outcomes[f"{what} {status}"] += 1
        return 200 <= status < 400

    def report(self) -> str:
        lines = []
        for (phase, kind), took in sorted(self.took_s.items()):
            took = sorted(took)
            p50, p99 = took[len(took) // 2], took[len(took) * 99 // 100]
            figures = f"p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms, most {took[-1] * 1000:.0f} ms"
            lines.append(f"{phase:12} {kind:5} {len(took):5} requests, {figures}")
        return "\n".join(lines)

    def p99_s(self, phase: str, kind: str) -> float:
        took = sorted(self.took_s[phase, kind])
        return took[len(took) * 99 // 100]


def repartition(site: QuickstartSite, *arguments: str) -> str:
    """Run the command beside the running site, as an operator does."""
    done = subprocess.run(
        [sys.executable, "manage.py", "repartition", *arguments],
        cwd=ROOT,
        env={**os.environ, "REDIS_URL": f"embedded://{site.data}", **REAL_SETTINGS},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def moved_there_and_back(site: QuickstartSite, cluster: RedisCluster, probe: Probe) -> None:
    time.sleep(QUIET_S)
    for phase, target in (("there", cluster.url), ("back", f"embedded://{site.data}")):
        probe.phase, began = phase, time.monotonic()
        output = repartition(site, "--to", target)
        print(f"{phase}: {time.monotonic() - began:.1f} s with the start of the command. {output}")
        probe.phase = f"after {phase}"
        time.sleep(QUIET_S / 2)


def test_a_site_moves_to_a_cluster_and_back_without_losing_a_write(
    site: QuickstartSite, cluster: RedisCluster, tmp_path: Path
) -> None:
    ledger = RequestLedger(tmp_path / "ledger.jsonl")
    people = sign_up_circle(site.url, "mover", PEOPLE)
    probe = Probe(*(HttpVisitor(site.url, name, timeout_s=15).sign_up() for name in ("probe", "probed")))
    crowd = LedgerClients(ledger, people, random.randrange(1 << 32), deleting=0.3)
    probing = threading.Thread(target=probe.run)
    crowd.start()
    probing.start()
    try:
        with StallMonitor() as stalls:
            moved_there_and_back(site, cluster, probe)
            wait_until(lambda: ledger.outcomes["201"] > ENOUGH, timeout_s=60)
    finally:
        probe.stopping.set()
        crowd.stop()
        probing.join(30)
        ledger.close()
    wait_until(site.is_drained, timeout_s=60)
    ledger_audit = audit_ledger(ledger, people)
    print(probe.report(), dict(probe.outcomes), ledger_audit, sep="\n")
    assert ledger_audit.is_clean, ledger_audit
    assert ledger_audit.acknowledged > ENOUGH
    assert set(ledger.outcomes) <= ALLOWED, ledger_audit
    assert {outcome.split()[1] for outcome in probe.outcomes} <= ALLOWED
    following = probe.one.get(f"/@{probe.other.handle}/followers/")["accounts"]
    if probe.follows is not None:
        assert bool(following) == probe.follows
    for phase in ("there", "back"):
        assert probe.p99_s(phase, "write") < 1.5 + stalls.total_s, probe.report()
    with site.redis() as client:
        assert client.hexists("map:{placement}:record", "epoch")
    assert [key for m in cluster.masters for key in m.client().keys("*") if not key.startswith("map:")] == []
