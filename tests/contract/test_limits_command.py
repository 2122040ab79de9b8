"""The operator's commands limits, stats and flush_buffers: what they show, change and refuse."""

import json
from typing import Any

import pytest
from django.core.management import CommandError

from socialsite.recipes.buffer import Entity
from socialsite.recipes.rate_limit import Subject
from socialsite.services import Services
from tests.support.commands import run, within
from tests.support.world import World

LIMITS = {"post": 5, "follow": None, "login": 3, "signup": 3, "search": None, "socket": 60, "address": 100}


@pytest.fixture(autouse=True)
def limited(here: None, settings: Any) -> None:
    settings.RATE_LIMITS = dict(LIMITS)


async def bob_posts_often(services: Services) -> None:
    bob = await World(services).person("bob")
    now_ms = services.clock.now_ms()
    for _ in range(4):
        await services.limits.hit(Subject.account(bob.id), [services.rules["post"]], now_ms)
    await services.limits.hit(Subject.handle("bob"), [services.rules["login"]], now_ms)
    await services.limits.hit(Subject.address("192.0.2.1"), [services.rules["address"]], now_ms)
    for _ in range(7):
        services.statistics.meter.answered(200, is_page=True, account_id=bob.id)


def used(*words: str) -> dict[tuple[str, str], int]:
    rows = json.loads(run("limits", "show", *words, "--json"))["usage"]
    return {
        (row["subject"], row["rule"]): row["this_minute"] + row["minute_before"]
        for row in rows
        if row["used"]
    }


def test_what_was_counted_for_an_account_is_shown() -> None:
    within(bob_posts_often)
    assert used("@bob") == used("bob") == {("@bob", "post"): 4, ("log-ins as @bob", "login"): 1}
    assert "@bob                         post          5 " in run("limits", "show", "@bob")


def test_what_was_counted_for_an_address_is_shown() -> None:
    within(bob_posts_often)
    assert used("192.0.2.1") == {("192.0.2.1", "address"): 1}
    assert used("192.0.2.2") == {}


def test_the_rules_and_the_most_active_accounts_are_shown() -> None:
    within(bob_posts_often)
    found = json.loads(run("limits", "show", "--json"))
    assert found["rules"] == LIMITS
    assert found["most_active"] == [{"account": "bob", "requests": 7}]
    text = run("limits", "show", "--minutes", "60")
    assert "follow   off" in text
    assert "@bob                        7" in text


def test_a_reset_lets_an_account_go_on() -> None:
    within(bob_posts_often)
    assert run("limits", "reset", "@bob", "--dry-run").startswith("Would forget what was counted for @bob")
    assert used("@bob")[("@bob", "post")] == 4
    assert run("limits", "reset", "@bob") == "Forgot what was counted for @bob, log-ins as @bob.\n"
    assert used("@bob") == {}
    assert run("limits", "reset", "@bob") == "Nothing was counted.\n"


def test_one_rule_is_reset_alone() -> None:
    within(bob_posts_often)
    run("limits", "reset", "@bob", "--rule", "login")
    assert used("@bob") == {("@bob", "post"): 4}


def test_log_ins_of_nobody_are_counted_and_reset_too() -> None:
    async def guess(services: Services) -> None:
        rules = [services.rules["login"]]
        await services.limits.hit(Subject.handle("nobody"), rules, services.clock.now_ms())

    within(guess)
    assert used("@nobody") == {("log-ins as @nobody", "login"): 1}
    assert run("limits", "reset", "@nobody") == "Forgot what was counted for log-ins as @nobody.\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("show", "{x}:*"), "neither a handle nor an address"),
        (("reset", "@bob", "--rule", "nonsense"), "no rule 'nonsense'"),
        (("show", "--minutes", "0"), "1 to 120"),
    ],
)
def test_nonsense_is_refused_in_one_line(words: tuple[str, ...], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        run("limits", *words)


def test_stats_tell_what_happened() -> None:
    async def happen(services: Services) -> None:
        world = World(services)
        alice, bob = await world.people("alice", "bob")
        await bob.follows(alice)
        await bob.home()
        await alice.publishes("words")
        await world.work()
        services.statistics.meter.refused("post")
        services.statistics.meter.answered(500, is_page=True, account_id=bob.id)

    within(happen)
    found = json.loads(run("stats", "--json"))
    assert (found["totals"]["posts"], found["totals"]["deliveries"]) == (1, 1)
    assert (found["refusals"], found["errors"]) == ({"post": 1}, {"500": 1})
    assert found["posters"] == [{"account": "alice", "count": 1}]
    assert found["active_accounts"] == {"day": 1, "week": 1, "month": 1}
    assert found["latency"]["p50_ms"] > 0
    assert sum(count for _, count in found["points"]["posts"]) == 1
    assert len(found["points"]["posts"]) == 25
    assert found["outbox"]["waiting"] == 0
    text = run("stats", "--hours", "1")
    assert "Most posts: @alice 1." in text
    assert "Active accounts: 1 today, 1 in 7 days, 1 in 30." in text


def test_stats_of_a_quiet_site() -> None:
    assert "Post to home: nothing was delivered." in run("stats")
    with pytest.raises(CommandError, match="--hours"):
        run("stats", "--hours", "0")


def test_buffers_are_flushed_by_hand() -> None:
    async def look(services: Services) -> None:
        for number in range(5):
            services.statistics.meter.viewed(Entity("post", number))

    within(look)
    assert run("flush_buffers", "--dry-run") == "5 buffers wait.\n"
    assert run("flush_buffers") == "5 buffers flushed.\n"
    assert run("flush_buffers") == "0 buffers flushed.\n"
