"""Refused connections, and the limits of sockets."""

import asyncio
import contextlib
import os
from collections.abc import Iterator

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin

from tests.support.daphnes import DaphneProcess, running_daphne
from tests.support.random_tests import mostly_nightly
from tests.support.redis_server import RedisServer
from tests.support.sockets import open_socket, sign_in_cookie


@pytest.fixture(scope="module")
def limited_daphne(redis_server: RedisServer) -> Iterator[DaphneProcess]:
    redis_server.flush()
    with running_daphne(redis_server.url, RATE_LIMIT_SOCKET="10/m", RATE_LIMIT_ADDRESS="20/m") as process:
        yield process


async def test_requests_over_the_limit_are_refused_and_a_flood_is_closed(limited_daphne, world) -> None:
    async with open_socket(limited_daphne) as reader:
        for _ in range(10):
            await reader.send({"type": "unsubscribe", "timeline": "public"})
        await reader.send({"type": "subscribe", "timeline": "public"})
        assert await reader.receive() == {"type": "error", "code": "rate_limited"}
        with contextlib.suppress(ConnectionError):
            for _ in range(30):
                await reader.send({"type": "unsubscribe", "timeline": "public"})
        assert await reader.close_code() == 4429


async def test_a_frame_over_4_kb_ends_the_socket_and_others_stay(daphne, world) -> None:
    bob = await world.person("bob")
    async with open_socket(daphne) as loud, open_socket(daphne) as other:
        await other.subscribe("public")
        await loud.send("x" * 5000)
        assert await loud.close_code() in (1006, 1009)
        post = await bob.publishes("unmoved")
        await other.receive_entry(post.id)


async def test_more_timelines_than_the_cap_are_refused(daphne, world) -> None:
    people = await world.people(*(f"person{n}" for n in range(21)))
    async with open_socket(daphne) as reader:
        for person in people[:20]:
            await reader.subscribe(f"profile:{person.handle}")
        await reader.send({"type": "subscribe", "timeline": "profile:person20"})
        assert await reader.receive() == {"type": "error", "code": "bad_message"}


async def test_without_a_store_the_handshake_is_503_and_later_works_again(daphne, world, redis_server) -> None:
    cookie = await sign_in_cookie(await world.person("alice"))
    os.kill(redis_server.pid, 19)  # SIGSTOP: the server stays connected and does not answer
    try:
        with pytest.raises(InvalidStatus) as refused:
            async with asyncio.timeout(15), open_socket(daphne, cookie):
                pass
        assert refused.value.response.status_code == 503
    finally:
        os.kill(redis_server.pid, 18)
    async with open_socket(daphne, cookie) as reader:
        await reader.subscribe("home")


async def test_handshakes_count_for_the_limit_of_their_address(limited_daphne, world) -> None:
    statuses = []
    for _ in range(45):  # twice the limit, in case a minute begins meanwhile
        try:
            async with open_socket(limited_daphne):
                statuses.append(101)
        except InvalidStatus as refusal:
            statuses.append(refusal.response.status_code)
    assert statuses[:20] == [101] * 20
    assert set(statuses[40:]) == {429}


@pytest.mark.parametrize("refused", mostly_nightly(["origin", "path"], 1))
async def test_refused_handshakes_count_for_the_limit_of_their_address(redis_server, world, refused) -> None:
    with running_daphne(redis_server.url, RATE_LIMIT_ADDRESS="20/m") as daphne:
        origin = "https://evil.example" if refused == "origin" else daphne.origin
        url = f"{daphne.url}elsewhere/" if refused == "path" else daphne.url
        statuses = []
        for _ in range(45):  # twice the limit, in case a minute begins meanwhile
            with pytest.raises(InvalidStatus) as refusal:
                async with connect(url, origin=Origin(origin)):
                    pass
            statuses.append(refusal.value.response.status_code)
        assert statuses[:20] == [403] * 20
        assert set(statuses[40:]) == {429}
        with pytest.raises(InvalidStatus):  # the address is over its limit for every handshake
            async with open_socket(daphne):
                pass


async def test_more_than_two_hundred_frames_a_second_end_the_socket(daphne, world) -> None:
    async with open_socket(daphne) as loud, open_socket(daphne) as other:
        with contextlib.suppress(ConnectionClosed):
            for _ in range(2_000):
                await loud.send({"type": "unsubscribe", "timeline": "public"})
        assert await loud.close_code() == 1006
        await other.subscribe("public")


async def test_forty_pings_and_a_message_in_sixty_fragments_are_accepted(daphne, world) -> None:
    async with open_socket(daphne) as reader:
        for _ in range(40):
            await reader.ping()
        text = '{"type":"subscribe","timeline":"public"}'.ljust(60)
        await reader.send_fragments(text)
        await reader.receive_until(lambda m: m["type"] == "subscribed")


@pytest.mark.parametrize(
    ("timeline", "code"),
    [
        ("home", "signed_out"),
        ("list:1", "signed_out"),
        ("profile:nobody", "forbidden"),
        ("tag:no tag", "bad_message"),
        ("profile:", "bad_message"),
        ("live:{l0}:events", "bad_message"),
        ("", "bad_message"),
    ],
)
async def test_private_timelines_are_refused_to_visitors_and_the_socket_stays(daphne, world, timeline, code) -> None:
    async with open_socket(daphne) as reader:
        await reader.send({"type": "subscribe", "timeline": timeline})
        assert await reader.receive() == {"type": "error", "code": code, "timeline": timeline}
        await reader.subscribe("public")


@pytest.mark.parametrize(
    "message",
    [
        "", "null", "[]", "{", '{"type":"subscribe"}', '{"type":"fly"}', '{"type":"watch","ids":["x"]}',
        '{"type":"watch","ids":[-1]}', '{"type":"subscribe","timeline":"public","after":"9007199254740992"}',
        '{"type":"watch","ids":[' + ",".join(["1"] * 101) + "]}", b"\x00\xff", "[" * 2000,
        '{"type":"\\ud800"}',
    ],
)  # fmt: skip
async def test_a_bad_message_is_answered_and_the_socket_stays(daphne, world, message) -> None:
    async with open_socket(daphne) as reader:
        await reader.send(message)
        assert await reader.receive() == {"type": "error", "code": "bad_message"}
        await reader.subscribe("public")


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", "http://127.0.0.1:1"])
async def test_a_foreign_or_missing_origin_is_403(daphne, world, origin) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with open_socket(daphne, origin=origin):
            pass
    assert refused.value.response.status_code == 403


async def test_https_is_another_origin_than_http(daphne, world) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with open_socket(daphne, origin=f"https://127.0.0.1:{daphne.port}"):
            pass
    assert refused.value.response.status_code == 403
