"""Encode websocket bytes by hand, for protocol violations that no client library can send."""

import struct

from tests.support.sockets import DaphneProcess

TEXT, CONTINUATION, PING, PONG, FINAL = 0x1, 0x0, 0x9, 0xA, 0x80
NO_MASK = b"\0\0\0\0"
"""A client must mask its frames; this mask changes nothing."""


def encode_upgrade_request(daphne: DaphneProcess) -> bytes:
    """Return the upgrade request that a page of the site sends."""
    lines = (
        "GET /ws/stream/ HTTP/1.1", f"Host: 127.0.0.1:{daphne.port}", f"Origin: {daphne.origin}",
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )  # fmt: skip
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()


def encode_frame(payload: bytes, code: int, *, length: int | None = None) -> bytes:
    """Encode a frame. `code` is the opcode, with FINAL in the last fragment; `length` is the length in its header."""
    size = len(payload) if length is None else length
    if size < 126:
        head = struct.pack("!BB", code, 0x80 | size)
    elif size < 65_536:
        head = struct.pack("!BBH", code, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", code, 0x80 | 127, size)
    return head + NO_MASK + payload
