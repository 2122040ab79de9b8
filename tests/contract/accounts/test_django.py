"""Django's authenticate, login and logout over this project's backend and session engine; logs contain no secrets."""

import time

import pytest
from django.contrib.auth import aauthenticate, aget_user, alogin, alogout, authenticate
from django.core.exceptions import SynchronousOnlyOperation
from django.http import HttpRequest
from django.test import AsyncClient

from accounts.sessions.service import SessionStore
from tests.support.account_world import PASSWORD

ARGON2 = ["django.contrib.auth.hashers.Argon2PasswordHasher"]


def request_with(cookie: str | None = None) -> HttpRequest:
    request = HttpRequest()
    request.session = SessionStore(cookie)
    return request


async def test_django_authenticates_by_handle_and_password(world):
    await world.sign_up()
    alice = await aauthenticate(username="Alice", password=PASSWORD)
    assert alice.handle == "alice"
    assert alice.backend == "accounts.backends.HandleBackend"
    assert await aauthenticate(username="alice", password="wrong") is None
    assert await aauthenticate(username=None, password=PASSWORD) is None


async def test_django_logs_in_and_out(world, alice):
    request = request_with()
    await alogin(request, alice)
    await request.session.asave()
    cookie = request.session.session_key
    assert (await aget_user(request_with(cookie))).id == alice.id
    leaving = request_with(cookie)
    await alogout(leaving)
    assert leaving.session.is_empty()
    assert (await aget_user(request_with(cookie))).is_anonymous
    assert await world.account_of(cookie) is None


async def test_a_cookie_set_before_the_login_is_invalid_after_it(world):
    alice, mallory = await world.sign_up("alice"), await world.sign_up("mallory")
    planted = (await world.sign_in(mallory)).session_key
    request = request_with(planted)
    await alogin(request, alice)
    await request.session.asave()
    assert request.session.session_key != planted
    assert await world.account_of(planted) is None
    assert (await world.account_of(request.session)).id == alice.id


async def test_djangos_test_client_signs_in(world, alice, settings):
    client = AsyncClient()
    await client.aforce_login(alice)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    assert (await world.account_of(cookie)).id == alice.id
    await client.alogout()
    assert await world.account_of(cookie) is None


async def test_django_does_not_authenticate_a_suspended_account(world, alice):
    session = await world.sign_in(alice)
    await world.accounts.suspend(account_id=alice.id)
    assert (await aget_user(request_with(session.session_key))).is_anonymous
    assert await aauthenticate(username="alice", password=PASSWORD) is None


async def test_django_does_not_authenticate_an_account_that_waits_for_its_deletion(world):
    account = await world.sign_up()
    world.accounts.deletion_grace_ms = 1_000
    await world.accounts.request_deletion(account_id=account.id)
    assert await aauthenticate(username="alice", password=PASSWORD) is None


async def test_synchronous_methods_are_refused(alice):
    with pytest.raises(SynchronousOnlyOperation):
        authenticate(username="alice", password=PASSWORD)
    for call in (alice.save, alice.delete, lambda: alice.check_password(PASSWORD), lambda: alice.set_password("x")):
        with pytest.raises(NotImplementedError):
            call()


async def test_an_unknown_account_takes_the_time_of_a_wrong_password(world, settings):
    settings.PASSWORD_HASHERS = ARGON2
    await world.sign_up("alice")
    await world.sign_up("import1", password=None)
    await world.accounts.authenticate("nobody", "x")
    cpu_s = {"alice": [], "nobody": [], "import1": []}  # CPU time, because other processes load this machine
    for _ in range(3):
        for handle, took in cpu_s.items():
            start = time.process_time()
            assert await world.accounts.authenticate(handle, "wrong password") is None
            took.append(time.process_time() - start)
    existing, unknown, unusable = [min(took) for took in cpu_s.values()]
    assert unknown == pytest.approx(existing, rel=0.4)
    assert unusable == pytest.approx(existing, rel=0.4)


async def test_an_unknown_handle_costs_as_many_commands_as_a_known_one(world, deployment):
    await world.sign_up("alice")
    counts = []
    for handle in ("alice", "nobody"):
        before = deployment.calls("get", "hmget")
        await world.accounts.authenticate(handle, "wrong password")
        counts.append(deployment.calls("get", "hmget") - before)
    assert counts[0] == counts[1]


async def test_no_log_line_contains_a_secret(world, caplog):
    caplog.set_level("DEBUG")
    alice = await world.sign_up()
    session = await world.sign_in(alice)
    await world.accounts.authenticate("alice", "a wrong guess 1")
    await world.accounts.change_password(account=alice, old=PASSWORD, new="another one 7")
    await world.accounts.delete(account_id=alice.id)
    log_text = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    for secret in (PASSWORD, "another one 7", "a wrong guess 1", session.session_key, alice.password):
        assert secret not in log_text
    assert "sign_in_refused" in log_text
    assert "password_changed" in log_text
