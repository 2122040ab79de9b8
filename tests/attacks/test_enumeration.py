"""Answers and their timing do not reveal which accounts exist or in which state they are.

ATTACK_ROUNDS (20 pairs, 1000 in the long form) sets how many log-ins are timed, with the site's real hasher; the
long form needs a quiet machine and `-o faulthandler_timeout=900`. A taken handle is public: its page shows it.
"""

import math
import os
import re
import statistics
import time
from collections.abc import Sequence

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.browser import JSON_HEADERS, HttpBrowser
from tests.support.routes import routes

ROUNDS = int(os.environ.get("ATTACK_ROUNDS", "20"))
MEDIAN_MS = 2.0
"""Largest difference of the medians (long form); single pairs differ by more under load."""
TURNING_AWAY = re.compile(r"/(un(follow|block|mute)|block|mute|(hide|show)-boosts|remove-follower|accept|refuse)/$")
"""Actions that stay possible towards a suspended account, so that a follower can leave it. Signed-in people
therefore see that it is suspended, as the sign-up page shows that its handle is taken."""
OF_HANDLES = [route for route in routes() if "<handle:handle>" in route.pattern]
GONE = ("was_suspended", "was_deleted")


@pytest.fixture
async def gone(site: Services, open_browser) -> None:
    """A suspended and a deleted account, each with a post."""
    for handle in GONE:
        browser = await open_browser(handle)
        await browser.publish("from before")
    accounts = [await site.accounts.get_by_handle(handle) for handle in GONE]
    await site.accounts.suspend(account_id=AccountId(accounts[0].id))
    await site.accounts.delete(account_id=AccountId(accounts[1].id))


@pytest.mark.parametrize("who", ["signed in", "anonymous"])
@pytest.mark.parametrize("headers", [{}, JSON_HEADERS], ids=["page", "json"])
async def test_suspended_deleted_and_unknown_accounts_get_the_same_answer(gone, alice, visitor, who, headers) -> None:
    browser = alice if who == "signed in" else visitor
    await browser.fetch_csrf_token()
    for route in OF_HANDLES:
        if who == "signed in" and TURNING_AWAY.search(route.path):
            continue
        for method in sorted(route.methods - {"HEAD"}):
            answers = [
                await answer_of(browser, method, route.path, handle, headers) for handle in (*GONE, "never_there")
            ]
            assert answers[0] == answers[1] == answers[2], (method, route.pattern, [each[0] for each in answers])


async def answer_of(
    browser: HttpBrowser, method: str, path: str, handle: str, headers: dict[str, str]
) -> tuple[int, str, str]:
    path = path.replace("alice", handle).replace("/7/", "/3475551503377237/")
    sent = {**headers, "X-CSRFToken": browser.csrf_token}
    answer = await browser.http.request(method, path, headers=sent, json={} if method == "POST" else None)
    text = re.sub(r'value="\w{64}"', "", answer.text.replace(handle, ""))  # tokens, masked differently each time
    return answer.status_code, answer.headers.get("location", "").replace(handle, "<handle>"), text


async def test_a_handle_in_a_field_gets_the_same_answer_for_every_hidden_account(gone, alice) -> None:
    """Lists, mentions and searches answer alike for unknown, suspended and deleted accounts."""
    made = (await alice.post_json("/lists/", title="t")).json()["id"]
    answers = []
    for handle in (*GONE, "never_there"):
        path = f"/lists/{made}/members/"
        added = await alice.post_json(path, handle=handle)
        accounts = (await alice.get_json(f"/search/?q=@{handle}")).json()["accounts"]
        completed = (await alice.get_json(f"/search/complete/?q=@{handle[:8]}")).json()["accounts"]
        answers.append((added.status_code, added.text.replace(handle, ""), accounts, completed))
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.nightly
async def test_a_log_in_takes_the_same_time_for_every_handle(site: Services, open_browser, settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    await open_browser("alice")
    guesser = await open_browser()
    times: dict[str, list[float]] = {"alice": [], "absent": []}
    works: dict[str, list[float]] = {"alice": [], "absent": []}
    for number in range(ROUNDS + 2):
        for handle in sorted(times, reverse=bool(number % 2)):
            began, worked = time.perf_counter(), time.process_time()
            answer = await guesser.log_in(handle, "wrong")
            took, work = (time.perf_counter() - began) * 1000, (time.process_time() - worked) * 1000
            assert answer.status_code in (401, 503)  # a machine under load may pass the deadline
            if number >= 2 and answer.status_code == 401:
                times[handle].append(took)
                works[handle].append(work)
    took, work = (statistics.median(of["alice"]) - statistics.median(of["absent"]) for of in (times, works))
    p = mann_whitney(times["alice"], times["absent"])
    print(
        f"{ROUNDS} pairs, {len(times['alice'])} and {len(times['absent'])} answered: medians differ by "
        f"{took:.2f} ms, p = {p:.3f}; by {work:.3f} ms of {statistics.median(works['alice']):.1f} of work"
    )
    if ROUNDS >= 1000:
        assert p > 0.01
        assert abs(took) <= MEDIAN_MS
    if ROUNDS >= 100:  # a busy machine does not increase the processor time
        assert abs(work) <= MEDIAN_MS
    assert p > 0.0001  # the quick form detects a missing hash: a difference of tens of ms


def mann_whitney(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the two-sided p of equal distributions, by the normal approximation."""
    ranked = sorted([(value, 0) for value in one] + [(value, 1) for value in other])
    ranks = sum(rank for rank, (_, group) in enumerate(ranked, 1) if group == 0)
    n, m = len(one), len(other)
    u = ranks - n * (n + 1) / 2
    z = (u - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)
    return math.erfc(abs(z) / math.sqrt(2))


def test_the_comparison_detects_a_missing_hash() -> None:
    even = [50 + n for n in range(20)]
    assert mann_whitney(even, [n + 0.5 for n in even[::-1]]) > 0.5
    assert mann_whitney(even, [n - 30 for n in even]) < 0.0001
