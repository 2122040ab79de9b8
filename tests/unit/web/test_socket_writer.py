"""What waits for a slow socket, under a server other than daphne; and the frame that daphne is handed."""

import asyncio
from typing import Any

import pytest

from socialsite.web.socket_writer import QUEUE_MAX_BYTES, AsgiSocketWriter, TextFrame, encode_text_frame


class Server:
    """An ASGI server whose `send` waits while the reader stalls."""

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


async def test_frames_leave_in_order_and_the_close_last() -> None:
    server = Server()
    outlet = AsgiSocketWriter(server.send)
    for number in range(5):
        outlet.send(TextFrame(b"%d" % number))
    outlet.close(4401)
    outlet.send(TextFrame(b"too late"))
    await _settle()
    assert server.texts == ["0", "1", "2", "3", "4"]
    assert server.sent[-1] == {"type": "websocket.close", "code": 4401}


async def test_a_reader_for_whom_too_much_waits_is_too_slow() -> None:
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


async def test_a_replay_waits_for_the_reader() -> None:
    server = Server()
    server.reading.clear()
    outlet = AsgiSocketWriter(server.send)
    outlet.send(TextFrame(b"one"))
    waiting = asyncio.create_task(outlet.wait_until_drained())
    await _settle()
    assert not waiting.done()
    server.reading.set()
    await _settle()
    assert waiting.done()


async def test_whoever_waits_is_woken_when_the_connection_goes() -> None:
    server = Server()
    server.reading.clear()
    outlet = AsgiSocketWriter(server.send)
    outlet.send(TextFrame(b"one"))
    waiting = asyncio.create_task(outlet.wait_until_drained())
    await _settle()
    outlet.detach()
    await asyncio.wait_for(waiting, 1)


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
def test_a_frame_is_what_rfc_6455_says(size, head) -> None:
    assert encode_text_frame(b"x" * size) == head + b"x" * size
