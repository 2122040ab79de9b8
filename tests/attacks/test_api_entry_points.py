"""Every address of the API takes time linear in its texts: four times the text, at most five times the time."""

import time
from collections.abc import Callable

import pytest

from socialsite.container import Services
from tests.attacks.test_entry_points import BASE_MS, digits, marks, words
from tests.support.api import ApiClient
from tests.support.random_tests import mostly_nightly
from tests.support.routes import Route, api_routes
from tests.web.api.conftest import OpenApi, open_api

__all__ = ["open_api"]
FIELDS = (
    "status", "spoiler_text", "language", "poll[options][]", "scheduled_at", "in_reply_to_id", "display_name", "note",
    "fields_attributes[0][value]", "title", "phrase", "keyword", "keywords_attributes[0][keyword]", "comment",
    "description", "focus", "name", "client_name", "website", "redirect_uris", "scopes", "username", "password",
    "choices[]", "subscription[endpoint]",
)  # fmt: skip
QUERIES = ("q", "acct", "max_id", "tagged", "any[]", "types[]", "id[]", "account_id", "offset", "lang")
SIZES, QUERY_SIZES = (7_500, 30_000), (1_200, 4_800)


async def milliseconds(app: ApiClient, route: Route, method: str, fields: dict[str, str]) -> float:
    began = time.process_time()
    if method == "GET":
        answer = await app.http.get(route.path, params=fields)
    else:
        answer = await app.http.request(method, route.path, json=fields)
    assert answer.status_code < 500, (method, route.path, answer.status_code)
    assert answer.status_code not in (401, 413), (method, route.path, "reads nothing")
    return 1000 * (time.process_time() - began)


async def find_slow_fields(app: ApiClient, route: Route, method: str, text: Callable[[int], str]) -> list[str]:
    """Return the fields whose time grows too fast. A field that is fast anyway is measured once."""
    slow = []
    for name in QUERIES if method == "GET" else FIELDS:
        small, large = ({name: text(size)} for size in (QUERY_SIZES if method == "GET" else SIZES))
        if await milliseconds(app, route, method, large) <= 4 * BASE_MS:
            continue
        times = [min([await milliseconds(app, route, method, each) for _ in range(3)]) for each in (small, large)]
        if times[1] > 5 * max(times[0], BASE_MS):
            slow.append(name)
    return slow


@pytest.mark.parametrize("text", mostly_nightly((marks, words, digits), 1))
async def test_the_time_of_every_address_is_linear_in_each_field(open_api: OpenApi, site: Services, text) -> None:
    site.rules.clear()
    app = await open_api("alice")
    too_slow = [
        (method, route.pattern, fields)
        for route in api_routes()
        if "streaming" not in route.path
        for method in sorted(route.methods - {"HEAD"})
        if (method != "GET" or text is not marks)  # a query cannot hold many marks
        and (fields := await find_slow_fields(app, route, method, text))
    ]
    assert too_slow == []
