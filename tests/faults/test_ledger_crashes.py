"""Processes are killed with -9 while people publish: every acknowledged post exists once, and no other.

`LEDGER_ROUNDS=20` kills more often; `LEDGER_POSTS=20000` continues until that many posts exist, with the kills
spread over them. By default each kind of process is killed twice.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.daphnes import NO_LIMITS, ROOT
from tests.support.ledger import LedgerAudit, LedgerClients, RequestLedger, audit_ledger
from tests.support.random_tests import mostly_nightly
from tests.support.sites import QuickstartSite, running_site
from tests.support.visitor import HttpVisitor, sign_up_circle
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("LEDGER_ROUNDS", "2"))
POSTS = int(os.environ.get("LEDGER_POSTS", "0"))
PEOPLE = 4
ENOUGH = 10 * ROUNDS
"""Minimum of posts, and half as many deletions: people continue until then."""
OUTAGE_S = 20.0
"""Longest time of a person without a success; about 3 s on a machine that is not busy."""
VICTIMS = {
    "worker": ({"201", "read 200"}, ["worker"]),
    "web": ({"201", "503", "no answer", "read 200", "read 503", "read no answer"}, ["web"]),
    "redis": ({"201", "503", "read 200", "read 503"}, ["redis"]),
    "factory": ({"201", "read 200"}, ["factory"]),
    "any": (
        {"201", "503", "no answer", "read 200", "read 503", "read no answer"},
        ["worker", "web", "redis", "factory"],
    ),
}
"""The killed processes, and the answers that clients may get meanwhile."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuickstartSite]:
    with running_site(tmp_path_factory.mktemp("ledger") / "data", **NO_LIMITS) as running:
        yield running


def kill(site: QuickstartSite, role: str) -> None:
    """Kill a process with -9 and wait until the supervisor has replaced it."""
    victim = site.kill_one(role)
    wait_until(lambda: site.processes().get(role, victim) != victim, timeout_s=90)
    wait_until(lambda: site.status() == 200, timeout_s=90)


def audit_command(site: QuickstartSite) -> subprocess.CompletedProcess[str]:
    """`manage.py audit` beside the running site; exit status 1 if something is half done."""
    environment = {
        **os.environ,
        "SECRET_KEY": "only for the audit of this test " * 3,
        "DJANGO_SETTINGS_MODULE": "socialsite.settings",
        "REDIS_URL": f"embedded://{site.data}",
        "MEDIA_ROOT": str(site.data / "media"),
    }
    return subprocess.run(
        [sys.executable, "manage.py", "audit"], cwd=ROOT, env=environment, capture_output=True, text=True
    )


def publish_while_killing(
    site: QuickstartSite, directory: Path, name: str, roles: list[str], *, deleting: float = 0.0
) -> tuple[LedgerAudit, RequestLedger, list[HttpVisitor]]:
    """People publish and processes die; when no work is pending, read the whole site."""
    seed = int(os.environ.get("LEDGER_SEED", "0")) or random.randrange(1 << 32)
    chance = random.Random(seed)
    ledger = RequestLedger(directory / "ledger.jsonl")
    people = sign_up_circle(site.url, f"{name}_", PEOPLE)
    crowd, lines_before = LedgerClients(ledger, people, seed, deleting=deleting), len(site.lines)
    crowd.start()
    try:
        for number in range(ROUNDS):
            until_posted(ledger, POSTS * number // ROUNDS)
            time.sleep(chance.uniform(0.2, 1.5))
            kill(site, chance.choice(roles))
        until_posted(ledger, max(POSTS, ENOUGH))
        wait_until(lambda: not deleting or deletions(ledger) >= ENOUGH / 2, timeout_s=60)
        time.sleep(0.5)
    finally:
        crowd.stop()
        ledger.close()
        print(site.printed_since(lines_before))
    wait_until(site.is_drained, timeout_s=60 + POSTS / 50)
    ledger_audit = audit_ledger(ledger, people)
    outages = " and ".join(f"no {what} for {gaps.longest_s:.1f} s" for what, gaps in ledger.gaps.items())
    print(f"{ROUNDS} kills of {'/'.join(roles)}, seed {seed}, at most {outages}: {ledger_audit}")
    return ledger_audit, ledger, people


def until_posted(ledger: RequestLedger, count: int) -> None:
    """Wait until that many posts are acknowledged."""
    wait_until(lambda: ledger.outcomes["201"] >= count, timeout_s=60 + count / 5)


def deletions(ledger: RequestLedger) -> int:
    return ledger.outcomes["delete 200"] + ledger.outcomes["delete 404"]


@pytest.mark.parametrize("victim", mostly_nightly(reversed(VICTIMS), 1))
def test_every_acknowledged_post_exists_once_after_kills(site: QuickstartSite, tmp_path: Path, victim: str) -> None:
    allowed, roles = VICTIMS[victim]
    ledger_audit, ledger, people = publish_while_killing(site, tmp_path, victim, roles)
    assert ledger_audit.is_clean, ledger_audit
    assert ledger_audit.acknowledged >= ENOUGH, ledger_audit
    assert set(ledger.outcomes) <= allowed, ledger_audit
    assert max(gaps.longest_s for gaps in ledger.gaps.values()) < OUTAGE_S
    forget_homes(site)
    again = audit_ledger(ledger, people)
    assert again.is_clean, f"homes rebuilt from their sources: {again}"
    report = audit_command(site)
    assert report.returncode == 0, report.stdout + report.stderr


@pytest.mark.nightly
def test_a_post_deleted_during_kills_never_reappears(site: QuickstartSite, tmp_path: Path) -> None:
    roles = VICTIMS["any"][1]
    ledger_audit, ledger, people = publish_while_killing(site, tmp_path, "deleting", roles, deleting=0.5)
    deleted = sum(entry.is_deleted for entry in ledger.entries.values())
    assert ledger_audit.is_clean, ledger_audit
    assert deleted >= ENOUGH / 2, ledger_audit
    forget_homes(site)
    again = audit_ledger(ledger, people)
    assert again.is_clean, f"homes rebuilt from their sources: {again}"


def test_twenty_requests_at_once_with_one_key_are_one_post(site: QuickstartSite) -> None:
    author, follower = sign_up_circle(site.url, "twenty_", PEOPLE)[:2]
    others = [HttpVisitor(site.url, author.handle) for _ in range(20)]
    for other in others:
        other.http.cookies.update(author.http.cookies)

    def send(one: HttpVisitor) -> tuple[int, str]:
        answer = one.post("/posts/", text="said once", idempotency_key="one key")
        return answer.status_code, answer.json().get("id")

    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(send, others))
    assert len(set(answers)) == 1
    assert answers[0][0] == 201
    wait_until(site.is_drained)
    assert [post["id"] for post in author.timeline(f"/@{author.handle}/")] == [answers[0][1]]
    assert [post["id"] for post in follower.timeline("/")] == [answers[0][1]]


def forget_homes(site: QuickstartSite) -> None:
    with site.redis() as client:
        for key in client.scan_iter("timelines:{*}:home"):
            client.delete(key)


def test_the_audit_finds_lost_doubled_and_unknown_posts(site: QuickstartSite, tmp_path: Path) -> None:
    ledger = RequestLedger(tmp_path / "ledger.jsonl")
    people = sign_up_circle(site.url, "audit_", PEOPLE)
    author = people[0]
    lost, doubled = (ledger.record_attempt(author.handle, text, text) for text in ("is lost", "is kept"))
    for entry in (lost, doubled):
        ledger.record_outcome(entry, "201", author.publishes(entry.text)["id"])
    wait_until(site.is_drained)
    assert audit_ledger(ledger, people).is_clean
    author.publishes("is kept")
    author.publishes("is nobody's")
    with site.redis() as client:
        client.zrem(f"timelines:{{{author.get('/accounts/settings/')['account']['id']}}}:profile", lost.post_id or "")
    forget_homes(site)
    ledger_audit = audit_ledger(ledger, people)
    assert len(ledger_audit.lost) == len(ledger_audit.doubled) == len(ledger_audit.ghosts) == 1 + PEOPLE, ledger_audit
    ledger.close()
