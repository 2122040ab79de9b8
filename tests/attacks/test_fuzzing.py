"""Generated input to every address and to the socket of a real daphne: no 5xx, and memory stays.

ATTACK_INPUTS (150 a test, 5000 in the long form) sets the number of inputs; see tests/support/hostile_input.py.
"""

import asyncio
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store.key import KEY_PATTERN
from tests.support.api import create_token
from tests.support.daphnes import NO_LIMITS, DaphneProcess, running_daphne
from tests.support.hostile_input import API_ROUTES, FRAMES, STAFF_ROUTES, FuzzRequest, fuzz_requests
from tests.support.redis_server import RedisServer
from tests.support.sockets import SocketClient, open_socket
from tests.support.visitor import JSON_HEADERS, PASSWORD, HttpVisitor

INPUTS = int(os.environ.get("ATTACK_INPUTS", "150"))
DJANGO_CACHE_KEY = re.compile(r"cache:1:(about|activity|instance|memory|active-authors|newest-tags)")
GROWTH_KB = 20 * 1024
"""Largest growth of the process after a warm-up with a fifth of the inputs."""
AT_A_TIME = 25
"""Inputs per example of hypothesis, which shrinks a failing example to the inputs that matter."""
THOROUGH = settings(
    max_examples=max(INPUTS // AT_A_TIME, 4),
    deadline=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
    derandomize=os.environ.get("CI") == "true",
)


@pytest.fixture(scope="module")
def daphne(redis_server: RedisServer) -> Iterator[DaphneProcess]:
    settings = {**NO_LIMITS, "RATE_LIMIT_SEARCH": "off", "LOG_LEVEL": "ERROR"}
    with redis_server.client() as store:
        store.flushall()
    with running_daphne(redis_server.url, **settings) as one:
        yield one


@pytest.fixture(scope="module")
def fuzzer(daphne: DaphneProcess) -> Iterator[HttpVisitor]:
    """A signed-in account with a list, a filter, a post and a follower."""
    with HttpVisitor(daphne.origin, "alice") as alice, HttpVisitor(daphne.origin, "fuzzer") as visitor:
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
    """The size of the process, measured after a fifth of the inputs."""

    daphne: DaphneProcess
    inputs: int = 0
    first_kb: int = 0

    def note(self, count: int) -> None:
        self.inputs += count
        if not self.first_kb and self.inputs >= INPUTS // 5:
            self.first_kb = self.daphne.resident_kb()

    @property
    def growth_kb(self) -> int:
        return self.daphne.resident_kb() - self.first_kb


@pytest.fixture(scope="module")
def staff(daphne: DaphneProcess, redis_server: RedisServer) -> Iterator[HttpVisitor]:
    """An account of the staff with an id that no input contains, so that no input suspends it."""
    with redis_server.client() as store:
        store.incrby("accounts:{ids}:accounts", 10**12)
    asyncio.run(hired(redis_server.url, "sam"))
    with HttpVisitor(daphne.origin, "sam") as visitor:
        answer = visitor.post("/accounts/login/", username="sam", password=PASSWORD)
        assert answer.status_code == 200, answer.text
        yield visitor


async def hired(redis_url: str, handle: str) -> None:
    async with open_services(redis_url, ServiceConfig()) as services:
        now_ms = services.clock.now_ms()
        await services.accounts.sign_up(handle=handle, password=PASSWORD, now_ms=now_ms, staff=True)


def test_no_request_is_answered_5xx_and_memory_stays(daphne: DaphneProcess, fuzzer: HttpVisitor) -> None:
    withstands(daphne, fuzzer, fuzz_requests())
    assert fuzzer.http.get("/lists/", headers=JSON_HEADERS).status_code == 200  # still signed in


@pytest.mark.nightly
def test_no_request_of_staff_is_answered_5xx_either(
    daphne: DaphneProcess, fuzzer: HttpVisitor, staff: HttpVisitor
) -> None:
    withstands(daphne, staff, fuzz_requests(among=STAFF_ROUTES))
    assert staff.http.get("/ops/", headers=JSON_HEADERS).status_code == 200


def test_no_request_of_an_app_is_answered_5xx_either(
    daphne: DaphneProcess, fuzzer: HttpVisitor, redis_server: RedisServer
) -> None:
    with HttpVisitor(daphne.origin, "fuzzer") as app:
        app.http.headers["Authorization"] = f"Bearer {asyncio.run(token_of(redis_server.url, 'fuzzer'))}"
        withstands(daphne, app, fuzz_requests(among=API_ROUTES))
        assert app.http.get("/api/v1/timelines/home").status_code == 200


async def token_of(redis_url: str, handle: str) -> str:
    async with open_services(redis_url, ServiceConfig()) as services:
        return await create_token(services, handle)


def withstands(daphne: DaphneProcess, visitor: HttpVisitor, drawn: st.SearchStrategy[FuzzRequest]) -> None:
    memory, statuses = Memory(daphne), Counter[int]()

    @THOROUGH
    @given(st.lists(drawn, min_size=AT_A_TIME, max_size=AT_A_TIME))
    def attack(sent: list[FuzzRequest]) -> None:
        for one in sent:
            status = send(visitor, one)
            statuses[status // 100] += 1
            assert 200 <= status < 500, one
        memory.note(len(sent))

    attack()
    assert memory.inputs >= INPUTS
    assert memory.growth_kb < GROWTH_KB
    assert {2, 4} <= statuses.keys()
    print(f"{memory.inputs} requests: {dict(statuses)}; memory grew by {memory.growth_kb} kB")


def test_no_input_becomes_part_of_a_key(redis_server: RedisServer, fuzzer: HttpVisitor) -> None:
    """Send the attack above, and the word as a name, tag, title, phrase and idempotency key."""
    plain = "canarynokey"  # every field accepts these letters
    for text in ("a:b", "{x}", "}", "*", "\r\n", "x" * 400, "#{p1}:y", "#käse", "..", "followers:1", plain):
        for path in ("/posts/", "/lists/", "/accounts/filters/", "/accounts/signup/", "/accounts/login/"):
            names = ("text", "title", "phrase", "idempotency_key", "handle", "username", "password")
            fuzzer.post(path, **dict.fromkeys(names, text))
        fuzzer.http.get("/search/", params={"q": text})
        fuzzer.http.get(f"/tags/{quote(text, safe='')}/")
    with redis_server.client() as store:
        keys = [key.decode("utf-8", "replace") for key in store.scan_iter(count=1000)]
    assert len(keys) > 50
    site_keys = [key for key in keys if not DJANGO_CACHE_KEY.fullmatch(key)]
    assert [key for key in site_keys if not KEY_PATTERN.fullmatch(key) or plain in key] == []


def send(visitor: HttpVisitor, one: FuzzRequest) -> int:
    """Return the status; a body is sent with a valid token, so that the site reads it."""
    headers = {"X-CSRFToken": visitor.http.cookies.get("csrftoken") or "", **(JSON_HEADERS if one.wants_json else {})}
    if one.content_type:
        headers["Content-Type"] = one.content_type
    try:
        url = httpx.URL(str(visitor.http.base_url)).copy_with(raw_path=one.path.encode())
    except httpx.InvalidURL:  # longer than httpx accepts
        return 400
    return visitor.http.request(one.method, url, content=one.body, headers=headers).status_code


def test_no_message_ends_a_socket_or_stops_its_answers(daphne: DaphneProcess, fuzzer: HttpVisitor) -> None:
    memory = Memory(daphne)
    cookie = fuzzer.http.cookies["sessionid"]

    async def say_all(frames: list[str | bytes]) -> None:
        async with open_socket(daphne, cookie) as reader:
            for frame in frames:
                await reader.send(frame)
            await still_answers(reader)

    @THOROUGH
    @given(st.lists(FRAMES, min_size=AT_A_TIME, max_size=AT_A_TIME))
    def attack(frames: list[str | bytes]) -> None:
        asyncio.run(say_all(frames))
        memory.note(len(frames))

    attack()
    assert memory.inputs >= INPUTS
    assert memory.growth_kb < GROWTH_KB
    print(f"{memory.inputs} messages; memory grew by {memory.growth_kb} kB")


async def still_answers(reader: SocketClient) -> None:
    """Check that the socket answers. Unsubscribe first, because a socket has a cap on its timelines."""
    for name in [m["timeline"] for m in reader.got if m["type"] == "subscribed"]:
        await reader.send({"type": "unsubscribe", "timeline": name})
    await reader.send({"type": "watch", "ids": []})
    await reader.send({"type": "subscribe", "timeline": "public", "after": "0"})
    await reader.receive_until(lambda m: m["type"] == "subscribed" and m["timeline"] == "public")
