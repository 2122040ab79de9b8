"""The largest forms of the site's own pages and of the API are accepted in every format."""

from functools import partial
from typing import Any

import pytest

from socialsite.languages import LANGUAGE_NAMES
from tests.support.api import ApiClient
from tests.support.browser import JSON_HEADERS, HttpBrowser
from tests.web.api.conftest import OpenApi, open_api

__all__ = ["open_api"]
FORMATS = ["data", "json", "multipart"]


async def test_every_language_of_the_page_can_be_chosen(alice: HttpBrowser) -> None:
    every = ["", *LANGUAGE_NAMES]
    fields = {"csrfmiddlewaretoken": alice.csrf_token, "languages": every}
    saved = await alice.http.post("/accounts/preferences/", data=fields, headers=JSON_HEADERS)
    assert saved.status_code == 200
    assert len((await alice.get_json("/accounts/preferences/")).json()["languages"]) == len(LANGUAGE_NAMES)


@pytest.mark.parametrize("format", FORMATS)
async def test_the_largest_requests_of_apps_are_accepted(open_api: OpenApi, format: str) -> None:
    app, others = await open_api("alice"), await open_api("bob")
    me = (await others.get("/api/v1/accounts/verify_credentials")).json()["id"]
    posts = [(await others.post("/api/v1/statuses", status=f"post {number}")).json()["id"] for number in range(50)]
    numbers = range(50)
    keywords = {f"keywords_attributes[{number}][keyword]": f"word{number}" for number in numbers}
    whole = {f"keywords_attributes[{number}][whole_word]": "true" for number in numbers}
    send = partial(post, app, format)
    group = await send("/api/v2/filters", {"title": "x", "context[]": ["home", "public"], **keywords, **whole})
    kept = {f"keywords_attributes[{number}][id]": each["id"] for number, each in enumerate(group["keywords"])}
    ended = {f"keywords_attributes[{number}][_destroy]": "false" for number in numbers}
    changed = await send(f"/api/v2/filters/{group['id']}", {**keywords, **whole, **kept, **ended}, method="PUT")
    assert len(changed["keywords"]) == 50
    assert len((await send("/api/v1/reports", {"account_id": me, "status_ids[]": posts}))["status_ids"]) == 50
    await app.post(f"/api/v1/accounts/{me}/follow")
    listed = (await app.post("/api/v1/lists", title="all")).json()["id"]
    await send(f"/api/v1/lists/{listed}/accounts", {"account_ids[]": [me] + [str(number) for number in range(1, 80)]})


async def post(app: ApiClient, format: str, path: str, fields: dict[str, Any], method: str = "POST") -> Any:
    lists = {name: [value] if isinstance(value, str) else value for name, value in fields.items()}
    if format == "json":
        answer = await app.http.request(method, path, json={name.removesuffix("[]"): fields[name] for name in fields})
    elif format == "multipart":
        files = [(name, (None, each)) for name, values in lists.items() for each in values]
        answer = await app.http.request(method, path, files=files)
    else:
        answer = await app.http.request(method, path, data=lists)
    assert answer.status_code in (200, 404), (path, answer.status_code, answer.text)
    assert answer.status_code == 200 or "accounts" in path, path  # most of the 80 are no accounts
    return answer.json()
