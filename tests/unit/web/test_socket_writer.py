"""The send queue of AsgiSocketWriter, and the frames that are written to daphne."""

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.tcp import Connection

from socialsite.web.daphne.flow_control import DaphneSocketWriter
from socialsite.web.socket_writer import QUEUE_MAX_BYTES, AsgiSocketWriter, TextFrame, encode_text_frame


class Server:
    """An ASGI server with a `send` that blocks while the client does not read."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.reading = asyncio.Event()
        self.reading.set()

    async def send(self, event: dict[str, Any]) -> None:
        await self.reading.wait()
        self.sent.append(event)

    @property
    def texts(self) -> list[str]:
        return [event["text"] for event in self.sent if event["type"] == "websocket.send"]


async def _settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_frames_are_sent_in_order_before_the_close() -> None:
    server = Server()
    outlet = AsgiSocketWriter(server.send)
    for number in range(5):
        outlet.send(TextFrame(b"%d" % number))
    outlet.close(4401)
    outlet.send(TextFrame(b"too late"))
    await _settle()
    assert server.texts == ["0", "1", "2", "3", "4"]
    assert server.sent[-1] == {"type": "websocket.close", "code": 4401}


async def test_a_socket_with_a_full_queue_is_closed_as_too_slow() -> None:
    server = Server()
    server.reading.clear()
    outlet = AsgiSocketWriter(server.send)
    frame = TextFrame(b"x" * 1000)
    while not outlet.is_closed:
        outlet.send(frame)
        assert outlet._queue.size_bytes <= QUEUE_MAX_BYTES + len(frame)
    server.reading.set()
    await _settle()
    assert server.sent[-1] == {"type": "websocket.close", "code": 4408}
    assert len(server.texts) <= 1


@pytest.mark.parametrize("is_lost", [False, True])
async def test_a_replay_waits_until_the_client_has_read_the_queue_or_is_lost(is_lost: bool) -> None:
    server = Server()
    server.reading.clear()
    outlet = AsgiSocketWriter(server.send)
    outlet.send(TextFrame(b"one"))
    waiting = asyncio.create_task(outlet.wait_until_drained())
    await _settle()
    assert not waiting.done()
    if is_lost:
        outlet.detach()
    else:
        server.reading.set()
    await asyncio.wait_for(waiting, 10)


async def test_a_reader_that_left_during_the_handshake_gets_a_closed_writer() -> None:
    with socket.socket() as lost:
        transport = Connection(lost, None, SimpleNamespace())
        transport.disconnected = 1
        del transport.socket  # as Twisted does
        protocol = SimpleNamespace(transport=transport, http_request_data=b"", http_headers={}, clean_headers={})
        assert DaphneSocketWriter(protocol).is_closed


@pytest.mark.parametrize(
    ("size", "head"),
    [
        (0, b"\x81\x00"),
        (125, b"\x81\x7d"),
        (126, b"\x81\x7e\x00\x7e"),
        (65_535, b"\x81\x7e\xff\xff"),
        (65_536, b"\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00"),
    ],
)
def test_a_text_frame_is_encoded_by_rfc_6455_5_2(size, head) -> None:
    assert encode_text_frame(b"x" * size) == head + b"x" * size
