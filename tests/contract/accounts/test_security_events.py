"""The events of an account: what is recorded, for how long, and what a stranger cannot remove."""

import pytest

from accounts import keys
from accounts.security.events import EVENT_TTL_MS, EVENTS_CAP, NO_ACCOUNT_ID, REFUSALS_CAP, rough_network
from socialsite.limits import Caller
from tests.support.account_world import PASSWORD, AccountWorld
from tests.support.nodes import run_command

CALLER = Caller(None, "203.0.113.9")


async def kinds(world: AccountWorld, account_id: int) -> list[str]:
    return [event.kind for event in await world.events.list_newest(account_id)]


async def test_log_ins_and_changes_are_listed_newest_first(world: AccountWorld, alice):
    await world.accounts.authenticate("alice", "wrong", caller=CALLER)
    world.clock.advance(1_000)
    await world.accounts.change_password(account=alice, old=PASSWORD, new="another one 7", caller=CALLER)
    assert await kinds(world, alice.id) == ["password_changed", "login_refused"]
    assert {event.network for event in await world.events.list_newest(alice.id)} == {"203.0.113.0/24"}


async def test_the_accounts_of_a_network_are_those_that_logged_in_there_lately(world: AccountWorld, alice):
    bob = await world.sign_up("bob")
    network, other = rough_network("203.0.113.9"), rough_network("198.51.100.7")
    await world.events.record(alice.id, "login", CALLER)
    await world.events.record(bob.id, "login_refused", CALLER)
    assert await world.events.list_accounts([network, other]) == [alice.id]
    world.clock.advance(EVENT_TTL_MS - 1)
    await world.events.record(bob.id, "login", Caller(None, "203.0.113.77"))
    await world.events.record(bob.id, "login", Caller(None, "198.51.100.7"))
    assert await world.events.list_accounts([network, other]) == [bob.id, alice.id]
    world.clock.advance(1)
    await world.events.record(bob.id, "login", CALLER)
    assert await world.events.list_accounts([network]) == [bob.id]
    await world.events.leave_networks(bob.id)
    assert await world.events.list_accounts([network, other]) == []


async def test_refused_attempts_never_remove_other_events(world: AccountWorld, alice):
    for number in range(EVENTS_CAP + 3):
        await world.events.record(alice.id, "app_added", CALLER, name=str(number))
    for _ in range(REFUSALS_CAP + 30):
        await world.events.record(alice.id, "login_refused", CALLER)
    listed = await kinds(world, alice.id)
    assert (listed.count("app_added"), listed.count("login_refused")) == (EVENTS_CAP, REFUSALS_CAP)


async def test_a_log_in_with_an_unknown_handle_leaves_no_key(world: AccountWorld):
    await world.accounts.authenticate("nobody", "wrong", caller=CALLER)
    for key in (keys.security_refusals(NO_ACCOUNT_ID), keys.security_events(NO_ACCOUNT_ID)):
        assert await run_command(world.store, "EXISTS", key) == 0


async def test_events_are_not_listed_after_ninety_days(world: AccountWorld, alice):
    await world.events.record(alice.id, "login", CALLER)
    assert 0 < await run_command(world.store, "PTTL", keys.security_events(alice.id)) <= EVENT_TTL_MS
    world.clock.advance(EVENT_TTL_MS)
    await world.events.record(alice.id, "password_changed", CALLER)
    assert await kinds(world, alice.id) == ["password_changed"]


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.77", "203.0.113.0/24"),
        ("::ffff:203.0.113.77", "203.0.113.0/24"),
        ("2001:db8:1234:5678::9", "2001:db8:1234::/48"),
        ("unknown", ""),
    ],
)
def test_the_rough_network_hides_the_host(address, network):
    assert rough_network(address) == network
