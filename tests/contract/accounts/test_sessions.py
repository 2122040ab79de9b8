"""Sessions: how they start, continue and end."""

import asyncio

import pytest
from django.contrib.sessions.backends.base import UpdateError
from django.core.exceptions import SynchronousOnlyOperation

from accounts import keys
from accounts.sessions.service import SessionStore
from accounts.sessions.values import SessionLimits, SessionToken
from socialsite.clock import DAY_MS
from socialsite.ids import AccountId
from tests.support.account_world import NOW_MS, PASSWORD, AccountWorld


@pytest.fixture
async def session(world, alice):
    return await world.sign_in(alice)


async def test_a_cookie_authenticates_its_account(world, alice, session):
    assert session.session_key.startswith(f"{alice.id}.")
    account, loaded = await world.sessions.load(session.session_key, NOW_MS)
    assert account.id == alice.id
    assert loaded["_auth_user_id"] == str(alice.id)
    assert not loaded.modified
    assert not loaded.is_empty()


async def test_an_unknown_cookie_authenticates_no_account(world, alice, session):
    bob = await world.sign_up("bob")
    secret = session.session_key.split(".")[1]
    for cookie in (
        None,
        "",
        "x",
        f"{bob.id}.{secret}",
        f"{alice.id}.{secret[:-1]}_",
        SessionToken.generate(alice.id).cookie_value,
    ):
        if cookie == session.session_key:
            continue
        account, loaded = await world.sessions.load(cookie, NOW_MS)
        assert account is None
        assert loaded.is_empty()


async def test_a_malformed_cookie_causes_no_read(world):
    assert world.sessions.read_session_commands("42.short") == []
    assert world.sessions.read_session_commands(None) == []


async def test_nothing_is_stored_for_anonymous_visitors(world, deployment):
    session = SessionStore(sessions=world.sessions)
    await session.aset("cart", "x")
    await session.asave()
    await session.acycle_key()
    await session.asave()
    assert session.session_key is None
    assert session.is_empty()
    assert deployment.all_keys() == []


async def test_the_token_itself_is_nowhere_in_the_store(world, session, deployment):
    secret = session.session_key.split(".")[1].encode()
    for key in deployment.all_keys():
        assert secret.decode() not in key
        with deployment.holding(key) as client:
            assert secret not in (client.dump(key) or b"")


async def test_a_session_idle_for_two_weeks_is_over(world, session):
    world.clock.advance(14 * DAY_MS - 1)
    assert await world.account_of(session)
    world.clock.advance(14 * DAY_MS)
    assert await world.account_of(session) is None


async def test_a_session_in_use_is_over_after_ninety_days(world, session):
    for _ in range(8):
        world.clock.advance(11 * DAY_MS)
        assert await world.account_of(session)
    world.clock.advance(2 * DAY_MS)
    assert await world.account_of(session) is None


async def test_the_store_deletes_an_expired_session(world, alice, session, store):
    stored, index = keys.session(alice.id, session.session_id), keys.session_index(alice.id)
    ttls = await store.execute_all([("PTTL", stored), ("PTTL", index)])
    assert all(14 * DAY_MS - 60_000 < ttl <= 14 * DAY_MS for ttl in ttls)
    for _ in range(8):
        world.clock.advance(10 * DAY_MS)
        await world.account_of(session)
    world.clock.advance(5 * DAY_MS)
    await world.account_of(session)
    (ttl,) = await store.execute_all([("PTTL", stored)])
    assert 5 * DAY_MS - 60_000 < ttl <= 5 * DAY_MS


async def test_last_use_is_written_at_most_once_a_minute(world, alice, session, store):
    score = ("ZSCORE", keys.session_index(alice.id), session.session_id)
    world.clock.advance(59_999)
    await world.account_of(session)
    assert int(float((await store.execute_all([score]))[0])) == NOW_MS
    world.clock.advance(1)
    await world.account_of(session)
    assert int(float((await store.execute_all([score]))[0])) == NOW_MS + 60_000


async def test_a_session_missing_from_its_accounts_index_is_invalid(world, alice, session, store):
    index = keys.session_index(alice.id)
    await store.node(index).execute("ZREM", index, session.session_id)
    assert await world.account_of(session) is None
    assert await store.node(index).execute("EXISTS", keys.session(alice.id, session.session_id)) == 1


async def test_an_index_entry_without_a_session_is_ignored(world, alice, session, store):
    stored = keys.session(alice.id, session.session_id)
    await store.node(stored).execute("DEL", stored)
    assert await world.account_of(session) is None
    assert await world.sessions.list_sessions(alice.id) == []


async def test_an_unreadable_session_is_invalid(world, alice, session, store):
    stored = keys.session(alice.id, session.session_id)
    await store.node(stored).execute("SET", stored, b"\xc1 not msgpack")
    assert await world.account_of(session) is None


async def test_a_late_save_does_not_restore_an_ended_session(world, alice, session):
    _, elsewhere = await world.sessions.load(session.session_key, NOW_MS)
    await world.sessions.end_all(alice.id)
    await elsewhere.aset("theme", "dark")
    with pytest.raises(UpdateError):
        await elsewhere.asave()
    await world.sessions.touch(elsewhere, NOW_MS + DAY_MS)
    assert await world.account_of(session) is None


async def test_values_saved_in_a_session_are_read_again(world, session):
    await session.aset("theme", {"name": "dark", "at": 7})
    await session.asave()
    assert await SessionStore(session.session_key, sessions=world.sessions).aget("theme") == {"name": "dark", "at": 7}


async def test_a_cycled_session_keeps_data_and_age_under_a_new_token(world, session):
    old = session.session_key
    world.clock.advance(30 * 60_000)
    await session.aset("theme", "dark")
    await session.acycle_key()
    await session.asave()
    assert session.session_key != old
    assert await world.account_of(old) is None
    _, loaded = await world.sessions.load(session.session_key, world.clock.now_ms())
    assert loaded["theme"] == "dark"
    assert loaded.created_ms == NOW_MS


async def test_a_session_of_another_account_gets_a_new_token(world, session):
    old, bob = session.session_key, await world.sign_up("bob")
    await session.aset("_auth_user_id", str(bob.id))
    await session.aset("_auth_user_hash", bob.get_session_auth_hash())
    await session.asave()
    assert await world.account_of(old) is None
    assert (await world.account_of(session)).id == bob.id


async def test_a_session_opened_with_the_old_password_is_invalid(world, alice):
    """A sign-in checks the old password and stores its session after the change."""
    await world.accounts.set_password(account=alice, new="another one 7")
    late = await world.sign_in(alice)
    assert await world.account_of(late) is None


async def test_a_session_stays_valid_while_the_secret_key_is_replaced(world, alice, settings):
    settings.SECRET_KEY = "the key before"
    session = await world.sign_in(alice)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the key after", ["the key before"]
    assert await world.account_of(session)
    settings.SECRET_KEY_FALLBACKS = []
    assert await world.account_of(session) is None


async def test_many_sessions_are_checked_concurrently(world, alice):
    bob = await world.sign_up("bob")
    ended, open_one, of_bob = [await world.sign_in(account) for account in (alice, alice, bob)]
    await world.sessions.end(alice.id, ended.session_id)
    pairs = [(alice.id, ended.session_id), (alice.id, open_one.session_id), (bob.id, of_bob.session_id)]
    wrong = [(bob.id, open_one.session_id), (AccountId(99), open_one.session_id)]
    assert await world.sessions.are_sessions_active(pairs + wrong) == [False, True, True, False, False]
    assert (await world.sessions.are_sessions_active(pairs * 400)) == [False, True, True] * 400
    await world.accounts.suspend(account_id=bob.id)
    world.clock.advance(15 * DAY_MS)
    assert await world.sessions.are_sessions_active(pairs) == [False, False, False]
    assert await world.sessions.are_sessions_active([]) == []


async def test_a_load_is_one_round_trip_of_three_commands(world, alice, session):
    commands = world.sessions.read_session_commands(session.session_key)
    replies = await world.store.execute_all(commands)
    account, loaded = world.sessions.parse_session_replies(session.session_key, replies, NOW_MS)
    assert len(commands) == 3
    assert account.id == alice.id
    assert loaded.session_key == session.session_key


async def test_synchronous_methods_are_refused(world, session):
    unread = SessionStore(session.session_key, sessions=world.sessions)
    for call in (unread.save, unread.create, unread.load, unread.delete, lambda: unread["x"]):
        with pytest.raises(SynchronousOnlyOperation):
            call()


async def test_djangos_session_interface_finds_its_services_by_the_event_loop(world, alice, session):
    again = SessionStore(session.session_key)
    assert await again.aget("_auth_user_id") == str(alice.id)
    await again.aflush()
    assert again.is_empty()
    assert await SessionStore(session.session_key).aget("_auth_user_id") is None


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
async def test_the_end_of_an_account_ends_its_sessions(world, alice, session, end):
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
    assert [bool(await world.account_of(session)) for session in sessions] == [False, False, True, False, False]
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
