"""Limits of a request are checked before its body is read and while it is read."""

from collections.abc import Iterable

import pytest
from django.core.exceptions import RequestAborted

from socialsite.web.middleware.request_size import InvalidBody, check_head, parse_content_length, read_body

MAX = 1_000


def scope(*headers: tuple[bytes, bytes], path: str = "/posts/", query: bytes = b""):
    return {"type": "http", "path": path, "query_string": query, "headers": list(headers)}


class Body:
    """A request body in chunks; `read` counts the bytes that were received."""

    def __init__(self, chunks: Iterable[bytes], *, then_gone: bool = False) -> None:
        self.messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
        self.messages.append({"type": "http.disconnect"} if then_gone else {"type": "http.request"})
        self.read = 0

    async def receive(self):
        message = self.messages.pop(0)
        self.read += len(message.get("body", b""))
        return message


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([], None),
        ([(b"content-length", b"1000")], None),
        ([(b"content-length", b"1001")], 413),
        ([(b"content-length", b"9" * 400)], 413),
        ([(b"content-length", b"-1")], 400),
        ([(b"content-length", b"1e3")], 400),
        ([(b"content-length", b"\xb2")], 400),
        ([(b"content-length", b"5"), (b"content-length", b"6")], 400),
        ([(b"content-length", b"5"), (b"content-length", b"5")], None),
        ([(b"x-long", b"a" * 12_300)], 431),
        ([(b"x-many", b"a")] * 101, 431),
        ([(b"cookie", b"a" * 8_000)], None),
    ],
)
def test_a_request_is_refused_by_its_head(headers, status):
    assert check_head(scope(*headers), MAX) == status


def test_the_address_counts_towards_the_size_of_the_head():
    assert check_head(scope(query=b"q=" + b"a" * 13_000), MAX) == 431
    assert check_head(scope(path="/" + "a" * 13_000), MAX) == 431


async def test_a_body_is_read_whole():
    assert await read_body(Body([b"ab", b"c"]).receive, 3, MAX) == b"abc"
    assert await read_body(Body([]).receive, None, MAX) == b""


async def test_a_body_without_a_length_is_counted_while_it_is_read():
    body = Body([b"a" * 400] * 1_000)
    with pytest.raises(InvalidBody) as refused:
        await read_body(body.receive, None, MAX)
    assert refused.value.status == 413
    assert body.read == 1_200


@pytest.mark.parametrize("declared", [2, 4])
async def test_a_wrong_content_length_is_refused(declared):
    with pytest.raises(InvalidBody) as refused:
        await read_body(Body([b"abc"]).receive, declared, MAX)
    assert refused.value.status == 400


async def test_a_disconnect_aborts_the_request():
    with pytest.raises(RequestAborted):
        await read_body(Body([b"ab"], then_gone=True).receive, 5, MAX)


def test_the_declared_length_is_a_number():
    assert parse_content_length(scope((b"content-length", b"17"))) == 17
    assert parse_content_length(scope()) is None
