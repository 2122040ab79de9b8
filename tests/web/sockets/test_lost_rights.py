"""Sockets close soon after a session ends and after an account is suspended or deleted."""

import asyncio
import contextlib
import time
from statistics import median

from accounts.sessions.values import SessionToken
from tests.support.sockets import SocketClient, open_socket, sign_in_cookie
from tests.support.stalls import StallMonitor

SOCKETS = 100


async def test_a_log_out_closes_only_the_sockets_of_that_session(daphne, world, services) -> None:
    alice = await world.person("alice")
    phone, desk = await sign_in_cookie(alice), await sign_in_cookie(alice)
    async with (
        open_socket(daphne, phone) as one,
        open_socket(daphne, phone) as two,
        open_socket(daphne, desk) as other,
    ):
        for reader in (one, two, other):
            await reader.subscribe("home")
        token = SessionToken.parse(phone)
        assert token is not None
        with StallMonitor() as stalls:
            began = time.monotonic()
            await services.sessions.end(alice.id, token.session_id)
            assert await one.close_code() == await two.close_code() == 4401
            took_s = time.monotonic() - began
        assert took_s < 2 + stalls.total_s
        post = await alice.publishes("still here")
        await other.receive_entry(post.id)


async def test_suspension_and_deletion_close_every_socket_of_the_account(daphne, world, services) -> None:
    alice, bob = await world.people("alice", "bob")
    async with (
        open_socket(daphne, await sign_in_cookie(alice)) as one,
        open_socket(daphne, await sign_in_cookie(bob)) as two,
    ):
        await one.subscribe("public")
        await two.subscribe("public")
        await services.accounts.suspend(account_id=alice.id)
        assert await one.close_code() == 4401
        await services.accounts.delete(account_id=bob.id)
        assert await two.close_code() == 4401


async def test_a_session_that_ends_without_a_message_is_closed_within_five_seconds(daphne, world, services) -> None:
    """The session ends directly in the repository, as if the control message were lost."""
    alice = await world.person("alice")
    cookie = await sign_in_cookie(alice)
    token = SessionToken.parse(cookie)
    assert token is not None
    async with open_socket(daphne, cookie) as reader:
        await reader.subscribe("home")
        await services.repositories.sessions.end(alice.id, token.session_id)
        with StallMonitor() as stalls:
            began = time.monotonic()
            assert await reader.close_code() == 4401
            took_s = time.monotonic() - began
        assert took_s <= 5 + stalls.total_s


async def test_the_last_of_a_hundred_sockets_closes_within_five_seconds(daphne, world, services) -> None:
    """Half of the accounts are suspended with a message; half of the sessions end without a message."""
    people = await world.people(*(f"reader{number}" for number in range(SOCKETS)))
    cookies = [await sign_in_cookie(person) for person in people]

    async def closed_at(reader: SocketClient) -> float:
        assert await reader.close_code(timeout_s=15) == 4401
        return time.monotonic()

    async with contextlib.AsyncExitStack() as stack:
        stalls = stack.enter_context(StallMonitor())
        readers = [await stack.enter_async_context(open_socket(daphne, cookie)) for cookie in cookies]
        for reader in readers:
            await reader.subscribe("home")
        closing, lost = [asyncio.create_task(closed_at(reader)) for reader in readers], []
        for number, (person, cookie) in enumerate(zip(people, cookies, strict=True)):
            lost.append(time.monotonic())
            token = SessionToken.parse(cookie)
            assert token is not None
            if number % 2:
                await services.accounts.suspend(account_id=person.id)
            else:
                await services.repositories.sessions.end(person.id, token.session_id)
        took = [await closed - at for closed, at in zip(closing, lost, strict=True)]
    print(f"{SOCKETS} sockets: p50 {median(took):.2f} s from the loss to the close, the last {max(took):.2f} s")
    assert max(took) <= 5 + stalls.total_s


async def test_the_cookie_of_an_ended_session_opens_a_visitors_socket(daphne, world, services) -> None:
    alice = await world.person("alice")
    cookie = await sign_in_cookie(alice)
    await services.sessions.end_all(alice.id)
    async with open_socket(daphne, cookie) as reader:
        await reader.send({"type": "subscribe", "timeline": "home"})
        assert await reader.receive() == {"type": "error", "code": "signed_out", "timeline": "home"}
