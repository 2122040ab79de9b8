"""Refused handshakes, and requests that a socket refuses without closing."""

import pytest
from websockets.exceptions import InvalidStatus

from tests.support.sockets import open_socket


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
