"""The commands limits, stats and flush_buffers: their output, changes and errors."""

import json
from typing import Any

import pytest
from django.core.management import CommandError

from socialsite.analytics.metrics import REFUSALS
from socialsite.container import Services
from socialsite.recipes.buffer import Entity
from socialsite.recipes.rate_limit import Identifier
from tests.support.management import run_command, run_with_services
from tests.support.world import World

LIMITS = {"post": 5, "follow": None, "login": 3, "signup": 3, "search": None, "socket": 60, "address": 100}


@pytest.fixture(autouse=True)
def limited(here: None, settings: Any) -> None:
    settings.RATE_LIMITS = dict(LIMITS)


async def bob_posts_often(services: Services) -> None:
    bob = await World(services).person("bob")
    now_ms = services.clock.now_ms()
    for _ in range(4):
        await services.limits.hit(Identifier.account(bob.id), [services.rules["post"]], now_ms)
    await services.limits.hit(Identifier.handle("bob"), [services.rules["login"]], now_ms)
    await services.limits.hit(Identifier.address("192.0.2.1"), [services.rules["address"]], now_ms)
    for _ in range(7):
        services.statistics.meter.count_response(200, is_page=True, account_id=bob.id)


def used(*words: str) -> dict[tuple[str, str], int]:
    rows = json.loads(run_command("limits", "show", *words, "--json"))["usage"]
    return {(row["subject"], row["rule"]): row["this_minute"] + row["minute_before"] for row in rows if row["used"]}


def test_the_counters_of_an_account_are_shown() -> None:
    run_with_services(bob_posts_often)
    assert used("@bob") == used("bob") == {("@bob", "post"): 4, ("log-ins as @bob", "login"): 1}
    assert "@bob                         post          5 " in run_command("limits", "show", "@bob")


def test_the_counters_of_an_address_are_shown() -> None:
    run_with_services(bob_posts_often)
    assert used("192.0.2.1") == {("192.0.2.1", "address"): 1}
    assert used("192.0.2.2") == {}


def test_the_rules_and_the_most_active_accounts_are_shown() -> None:
    run_with_services(bob_posts_often)
    output = json.loads(run_command("limits", "show", "--json"))
    assert output["rules"] == LIMITS
    assert output["most_active"] == [{"account": "bob", "requests": 7}]
    text = run_command("limits", "show", "--minutes", "60")
    assert "follow   off" in text
    assert "@bob                        7" in text


def test_a_reset_account_is_granted_again() -> None:
    run_with_services(bob_posts_often)
    assert run_command("limits", "reset", "@bob", "--dry-run").startswith("Would forget what was counted for @bob")
    assert used("@bob")[("@bob", "post")] == 4
    assert run_command("limits", "reset", "@bob") == "Forgot what was counted for @bob, log-ins as @bob.\n"
    assert used("@bob") == {}
    assert run_command("limits", "reset", "@bob") == "Nothing was counted.\n"


def test_one_rule_is_reset_alone() -> None:
    run_with_services(bob_posts_often)
    run_command("limits", "reset", "@bob", "--rule", "login")
    assert used("@bob") == {("@bob", "post"): 4}


def test_log_ins_of_unknown_handles_are_counted_and_reset() -> None:
    async def guess(services: Services) -> None:
        rules = [services.rules["login"]]
        await services.limits.hit(Identifier.handle("nobody"), rules, services.clock.now_ms())

    run_with_services(guess)
    assert used("@nobody") == {("log-ins as @nobody", "login"): 1}
    assert run_command("limits", "reset", "@nobody") == "Forgot what was counted for log-ins as @nobody.\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("show", "{x}:*"), "neither a handle nor an address"),
        (("reset", "@bob", "--rule", "nonsense"), "no rule 'nonsense'"),
        (("show", "--minutes", "0"), "1 to 120"),
    ],
)
def test_invalid_arguments_are_refused_in_one_line(words: tuple[str, ...], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        run_command("limits", *words)


def test_stats_show_the_counted_events() -> None:
    async def happen(services: Services) -> None:
        world = World(services)
        alice, bob = await world.people("alice", "bob")
        await bob.follows(alice)
        await bob.home()
        await alice.publishes("words")
        await world.deliver_all()
        services.statistics.meter.count(REFUSALS, "post")
        services.statistics.meter.count_response(500, is_page=True, account_id=bob.id)

    run_with_services(happen)
    output = json.loads(run_command("stats", "--json"))
    assert (output["totals"]["posts"], output["totals"]["deliveries"]) == (1, 1)
    assert (output["refusals"], output["errors"]) == ({"post": 1}, {"500": 1})
    assert output["posters"] == [{"account": "alice", "count": 1}]
    assert output["active_accounts"] == {"day": 1, "week": 1, "month": 1}
    assert output["latency"]["p50_ms"] > 0
    assert sum(count for _, count in output["points"]["posts"]) == 1
    assert len(output["points"]["posts"]) == 25
    assert output["outbox"]["waiting"] == 0
    text = run_command("stats", "--hours", "1")
    assert "Most posts: @alice 1." in text
    assert "Active accounts: 1 today, 1 in 7 days, 1 in 30." in text


def test_stats_of_a_site_without_events_are_zero() -> None:
    assert "Post to home: nothing was delivered." in run_command("stats")
    with pytest.raises(CommandError, match="--hours"):
        run_command("stats", "--hours", "0")


def test_the_command_flushes_the_buffers() -> None:
    async def look(services: Services) -> None:
        for number in range(5):
            services.statistics.meter.count_view(Entity("post", number))

    run_with_services(look)
    assert run_command("flush_buffers", "--dry-run") == "5 buffers wait.\n"
    assert run_command("flush_buffers") == "5 buffers flushed.\n"
    assert run_command("flush_buffers") == "0 buffers flushed.\n"
