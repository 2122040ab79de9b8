"""How sessions end: by a new password, by the owner, with the account, or above the cap."""

import asyncio

import pytest

from accounts import keys
from accounts.sessions.values import SessionLimits
from socialsite.clock import DAY_MS
from tests.support.account_world import NOW_MS, PASSWORD, AccountWorld


async def test_a_new_password_ends_every_session_but_the_one_given(world, alice):
    here, there = await world.sign_in(alice), await world.sign_in(alice)
    changed = await world.accounts.change_password(
        account=alice, old=PASSWORD, new="another one 7", keep_session_id=here.session_id
    )
    assert await world.account_of(there) is None
    assert world.ended == [(alice.id, there.session_id)]
    assert await world.account_of(here) is None  # the session contains the old password's hash until it is updated
    await here.acycle_key()
    await here.aset("_auth_user_hash", changed.get_session_auth_hash())
    await here.asave()
    assert (await world.account_of(here)).id == alice.id


@pytest.mark.parametrize("end", ["suspend", "delete"])
async def test_the_end_of_an_account_ends_its_sessions(world, alice, end):
    session = await world.sign_in(alice)
    if end == "suspend":
        await world.accounts.suspend(account_id=alice.id)
    else:
        await world.accounts.delete(account_id=alice.id)
    late = await world.sign_in(alice)
    assert await world.account_of(session) is None
    assert await world.account_of(late) is None
    assert world.ended == [(alice.id, None)]


async def test_open_sessions_are_listed_last_used_first(world, alice):
    phone = await world.sign_in(alice, "Safari on iPhone")
    world.clock.advance(120_000)
    desk = await world.sign_in(alice, "Firefox on Linux")
    world.clock.advance(120_000)
    await world.account_of(phone)
    first, second = await world.sessions.list_sessions(alice.id, current=desk.session_id)
    assert (first.device, first.created_ms, first.last_used_ms, first.current) == (
        "Safari on iPhone",
        NOW_MS,
        NOW_MS + 240_000,
        False,
    )
    assert (second.id, second.current) == (desk.session_id, True)


async def test_ending_one_session_notifies_the_port_once(world, alice):
    phone, desk = await world.sign_in(alice), await world.sign_in(alice)
    assert await world.sessions.end(alice.id, phone.session_id)
    assert not await world.sessions.end(alice.id, phone.session_id)
    assert world.ended == [(alice.id, phone.session_id)]
    assert await world.account_of(phone) is None
    assert await world.account_of(desk)


async def test_an_account_cannot_end_the_session_of_another_account(world, alice):
    bob, session = await world.sign_up("bob"), await world.sign_in(alice)
    assert not await world.sessions.end(bob.id, session.session_id)
    assert not await world.sessions.end(bob.id, "}:{*")
    assert await world.account_of(session)


async def test_ending_all_other_sessions_keeps_one_session_and_its_time(world, alice, store):
    sessions = [await world.sign_in(alice) for _ in range(5)]
    await world.sessions.end_all(alice.id, except_id=sessions[2].session_id)
    assert [bool(await world.account_of(session)) for session in sessions] == [
        False,
        False,
        True,
        False,
        False,
    ]
    (ttl,) = await store.execute_all([("PTTL", keys.session_index(alice.id))])
    assert 14 * DAY_MS - 60_000 < ttl <= 14 * DAY_MS
    await world.sessions.end_all(alice.id)
    assert await world.account_of(sessions[2]) is None


async def test_ending_all_sessions_deletes_their_keys(world, alice, deployment):
    for _ in range(3):
        await world.sign_in(alice)
    await world.sessions.end_all(alice.id)
    assert deployment.all_keys("sessions:*") == []


async def test_above_the_cap_the_least_recently_used_session_ends(store):
    world = AccountWorld(store, SessionLimits(max_sessions=3))
    alice = await world.sign_up("alice")
    sessions = []
    for _ in range(5):
        sessions.append(await world.sign_in(alice))
        world.clock.advance(1_000)
    assert [bool(await world.account_of(session)) for session in sessions] == [False, False, True, True, True]
    assert world.ended == [(alice.id, session.session_id) for session in sessions[:2]], "their sockets close at once"


async def test_sign_ins_concurrent_with_the_end_of_all_sessions_are_complete_or_absent(world, alice):
    opened = await asyncio.gather(
        *(world.sign_in(alice) for _ in range(10)),
        world.sessions.end_all(alice.id),
        *(world.sign_in(alice) for _ in range(10)),
    )
    alive = [session for session in opened if session is not None and await world.account_of(session)]
    assert len(await world.sessions.list_sessions(alice.id)) == len(alive)
