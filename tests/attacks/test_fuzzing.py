"""Anything at all, sent to every address and over the socket of a real daphne: never 5xx, and memory stays.

ATTACK_INPUTS (500 a test, 5000 in the long form) says how many; what is tried comes from hypothesis, steered
towards what breaks parsers: half surrogates, NUL, overlong UTF-8, depth, size, wrong types, other ids.
"""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from socialsite.store.key import GRAMMAR
from tests.support.redis_server import RedisServer
from tests.support.routes import routes
from tests.support.sockets import Client, Daphne, client, running
from tests.support.visitor import JSON, Visitor

INPUTS = int(os.environ.get("ATTACK_INPUTS", "500"))
GROWTH_KB = 20 * 1024
"""By how much the process may grow, after a warm-up of a fifth of the inputs."""
AT_A_TIME = 25
"""Inputs to one example of hypothesis: a failing one is cut down to those that matter."""
THOROUGH = settings(
    max_examples=max(INPUTS // AT_A_TIME, 4),
    deadline=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
    derandomize=os.environ.get("CI") == "true",
)

FIELDS = (
    "text", "in_reply_to", "idempotency_key", "audience", "next", "title", "handle", "operation", "parts",
    "replies", "exclusive", "first", "phrase", "action", "whole_word", "expires_in", "duration", "timeline",
    "post", "back", "scroll", "up_to", "mention", "like", "username", "password", "password1", "password2",
    "old_password", "new_password1", "new_password2", "display_name", "bio", "link", "private", "session",
    "csrfmiddlewaretoken", "part-1", "tag",
)  # fmt: skip
NASTY = (
    "", " ", "\x00", "\ud800", "\udfff\ud800", "\ufffe", "\U0010ffff", "a\u0301" * 300, "\u202e", "0", "-1",
    "1",
    "9007199254740991", "9007199254740992", "1" * 400, "1e309", "NaN", "null", "true", "[]", "{}", "home",
    "list:1", "list:" + "0" * 15 + "1" + "9" * 40, "profile:alice", "tag:x", "alice", "@alice", "fuzzer",
    "all",
    "public", "followers", "union", "1 1", "2024-02-30", "9999-12-31", "%00", "../../etc/passwd", "{x}:y*",
    "\r\nX: y", "a" * 5_000, "\N{GRINNING FACE}" * 600, "<script>", "٣", "²", "１", "ﬀ" * 40, "İ" * 30,
    "ß" * 30,
)  # fmt: skip
UNIVERSE = st.text(st.characters(codec=None, categories=None), max_size=60)
TEXTS = st.one_of(st.sampled_from(NASTY), UNIVERSE, st.integers().map(str))
SCALARS = st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
NAMES = st.one_of(st.sampled_from(FIELDS), TEXTS)
DEEP = st.sampled_from(
    [b"[" * 30_000, b'{"a":' * 9_000, b"[" * 30_000 + b"]" * 30_000, b'{"text":' + b"9" * 4_400 + b"}"]
)
RAW = st.one_of(
    st.binary(max_size=200), DEEP, st.sampled_from([b"text=\xc0\xaf", b"text=\xed\xa0\x80", b"\xff" * 70_000])
)


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()  # half surrogates as \udXXX, NaN and Infinity as Python writes them


def as_form(pairs: list[tuple[str, str]]) -> bytes:
    return "&".join(
        f"{quote(n, errors='surrogatepass')}={quote(v, errors='surrogatepass')}" for n, v in pairs
    ).encode()


def as_parts(pairs: list[tuple[str, str]]) -> bytes:
    lines = [
        b'--x\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n'
        % (name.encode("utf-8", "surrogatepass"), value.encode("utf-8", "surrogatepass"))
        for name, value in pairs
    ]
    return b"".join(lines) + b"--x--\r\n"


@dataclass(frozen=True)
class Sent:
    """One request; hypothesis shows it whole where it breaks something."""

    method: str
    path: str
    content_type: str
    body: bytes
    wants_json: bool


PAIRS = st.lists(st.tuples(NAMES, TEXTS), max_size=6)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=6)
FORM, PARTS, JSON_TYPE = (
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json",
)
BODIES = st.one_of(
    st.tuples(st.just(JSON_TYPE), st.one_of(OBJECTS, VALUES).map(as_json)),
    st.tuples(st.just(FORM), PAIRS.map(as_form)),
    st.tuples(st.just(PARTS), PAIRS.map(as_parts)),
    st.tuples(
        st.sampled_from([FORM, PARTS, JSON_TYPE, "text/plain", "application/json; charset=utf-16"]), RAW
    ),
)
UNKEPT = ("/accounts/delete/", "/accounts/logout/")
"""Ways to end one's own session by accident."""
PATHS = [route for route in routes() if route.path not in UNKEPT]


@st.composite
def requests(draw: st.DrawFn) -> Sent:
    route = draw(st.sampled_from(PATHS))
    written = route.pattern if draw(st.booleans()) else route.path
    pieces = [
        quote(draw(TEXTS), safe="", errors="surrogatepass") if piece.startswith("<") else piece
        for piece in written.replace("<", "\0<").replace(">", ">\0").split("\0")
    ]
    path = "".join(pieces)[:3_000]
    method = draw(st.sampled_from(sorted(route.methods) or ["GET"]))
    if method != "POST":
        names = st.sampled_from(
            ["before", "after", "limit", "cursor", "q", "date", "tab", "range", "next", "x"]
        )
        query = as_form(draw(st.lists(st.tuples(names, TEXTS), max_size=3))).decode()
        return Sent(method, f"{path}?{query}"[:6_000], "", b"", draw(st.booleans()))
    content_type, body = draw(BODIES)
    return Sent(method, path, content_type, body, draw(st.booleans()))


@pytest.fixture(scope="module")
def daphne(redis_server: RedisServer) -> Iterator[Daphne]:
    limits = {
        f"RATE_LIMIT_{rule}": "off" for rule in ("POST", "FOLLOW", "SIGNUP", "LOGIN", "SEARCH", "ADDRESS")
    }
    with redis_server.client() as store:
        store.flushall()
    with running(redis_server.url, LOG_LEVEL="ERROR", **limits) as one:
        yield one


@pytest.fixture(scope="module")
def fuzzer(daphne: Daphne) -> Iterator[Visitor]:
    """Somebody with a list, a filter, a post and a follower, so that there is something to break."""
    with Visitor(daphne.origin, "alice") as alice, Visitor(daphne.origin, "fuzzer") as visitor:
        alice.sign_up()
        visitor.sign_up()
        alice.follows("fuzzer")
        visitor.follows("alice")
        alice.publishes("hello #x")
        visitor.post("/lists/", title="mine")
        visitor.post("/accounts/filters/", phrase="phrase")
        yield visitor


@dataclass
class Memory:
    """The process's size, from when a fifth of the inputs has been read."""

    daphne: Daphne
    inputs: int = 0
    first_kb: int = 0

    def note(self, count: int) -> None:
        self.inputs += count
        if not self.first_kb and self.inputs >= INPUTS // 5:
            self.first_kb = self.daphne.resident_kb()

    @property
    def growth_kb(self) -> int:
        return self.daphne.resident_kb() - self.first_kb


def test_no_request_is_answered_5xx_and_memory_stays(daphne: Daphne, fuzzer: Visitor) -> None:
    memory, statuses = Memory(daphne), Counter[int]()

    @THOROUGH
    @given(st.lists(requests(), min_size=AT_A_TIME, max_size=AT_A_TIME))
    def attack(sent: list[Sent]) -> None:
        for one in sent:
            status = send(fuzzer, one)
            statuses[status // 100] += 1
            assert 200 <= status < 500, one
        memory.note(len(sent))

    attack()
    assert fuzzer.http.get("/lists/", headers=JSON).status_code == 200  # still signed in: not all were 401
    assert memory.inputs >= INPUTS
    assert memory.growth_kb < GROWTH_KB
    assert {2, 4} <= statuses.keys()
    print(f"{memory.inputs} requests: {dict(statuses)}; memory grew by {memory.growth_kb} kB")


def test_none_of_what_was_sent_stands_in_a_key(redis_server: RedisServer, fuzzer: Visitor) -> None:
    """After the attack above, and a name, a tag, a title, a phrase, a key that would all like to be one."""
    for text in ("a:b", "{x}", "}", "*", "\r\n", "x" * 400, "#{p1}:y", "#käse", "..", "followers:1"):
        for path in ("/posts/", "/lists/", "/accounts/filters/", "/accounts/signup/", "/accounts/login/"):
            names = ("text", "title", "phrase", "idempotency_key", "handle", "username", "password")
            fuzzer.post(path, **dict.fromkeys(names, text))
        fuzzer.http.get("/search/", params={"q": text})
        fuzzer.http.get(f"/tags/{quote(text, safe='')}/")
    with redis_server.client() as store:
        keys = [key.decode("utf-8", "replace") for key in store.scan_iter(count=1000)]
    assert len(keys) > 50
    assert [key for key in keys if not GRAMMAR.fullmatch(key)] == []


def send(visitor: Visitor, one: Sent) -> int:
    """The status; a body goes with a right token, so that it is read."""
    headers = {"X-CSRFToken": visitor.http.cookies.get("csrftoken") or "", **(JSON if one.wants_json else {})}
    if one.content_type:
        headers["Content-Type"] = one.content_type
    try:
        url = httpx.URL(str(visitor.http.base_url)).copy_with(raw_path=one.path.encode())
    except httpx.InvalidURL:  # longer than the client writes
        return 400
    return visitor.http.request(one.method, url, content=one.body, headers=headers).status_code


TIMELINES = st.one_of(
    st.sampled_from(["home", "public", "tags", "notifications", "list:1", "profile:alice", "tag:x"]),
    st.tuples(st.sampled_from(["list:", "profile:", "tag:", "home:", ""]), TEXTS).map("".join),
)
MESSAGES = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["subscribe", "unsubscribe"]), "timeline": TIMELINES},
        optional={"after": st.one_of(SCALARS, st.integers(0, 2**53))},
    ),
    st.fixed_dictionaries({"type": st.just("watch"), "ids": st.lists(SCALARS, max_size=110)}),
    st.dictionaries(st.sampled_from(["type", "timeline", "after", "ids", "x"]), VALUES, max_size=4),
    VALUES,
).map(as_json)
FRAMES = st.one_of(
    MESSAGES, st.binary(max_size=300), st.sampled_from([b"[" * 4_000, b'{"a":' * 800, b'"\\ud800"', b""])
)
AS_TEXT = st.tuples(FRAMES.filter(lambda raw: len(raw) <= 4_096), st.booleans())


def test_no_message_ends_a_socket_or_stops_its_answers(daphne: Daphne, fuzzer: Visitor) -> None:
    memory = Memory(daphne)
    cookie = fuzzer.http.cookies["sessionid"]

    async def say_all(sent: list[tuple[bytes, bool]]) -> None:
        async with client(daphne, cookie) as reader:
            for raw, as_text in sent:
                await reader.say(raw.decode("utf-8", "replace") if as_text else raw)
            await still_answers(reader)

    @THOROUGH
    @given(st.lists(AS_TEXT, min_size=AT_A_TIME, max_size=AT_A_TIME))
    def attack(sent: list[tuple[bytes, bool]]) -> None:
        asyncio.run(
            say_all(
                [(raw, text) for raw, text in sent if len(raw.decode("utf-8", "replace").encode()) <= 4_096]
            )
        )
        memory.note(len(sent))

    attack()
    assert memory.inputs >= INPUTS
    assert memory.growth_kb < GROWTH_KB
    print(f"{memory.inputs} messages; memory grew by {memory.growth_kb} kB")


async def still_answers(reader: Client) -> None:
    """Room is made first: a socket has a cap on its timelines."""
    for name in [m["timeline"] for m in reader.got if m["type"] == "subscribed"]:
        await reader.say({"type": "unsubscribe", "timeline": name})
    await reader.say({"type": "watch", "ids": []})
    await reader.say({"type": "subscribe", "timeline": "public", "after": "0"})
    await reader.until(lambda m: m["type"] == "subscribed" and m["timeline"] == "public")
