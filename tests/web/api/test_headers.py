"""Headers of API responses: limits, and access by pages of other sites."""

import pytest

from socialsite.asgi import application
from socialsite.container import Services
from tests.support.api import ApiClient
from tests.support.browser import HttpBrowser
from tests.web.api.conftest import OpenApi

OWN_ACCOUNT = "/api/v1/accounts/verify_credentials"
ORIGIN = {"Origin": "https://phanpy.example"}


@pytest.mark.parametrize("path", [OWN_ACCOUNT, "/api/v1/nothing", "/.well-known/oauth-authorization-server"])
async def test_pages_of_other_sites_may_read_the_api(open_api: OpenApi, path: str) -> None:
    answer = await (await open_api()).http.get(path, headers=ORIGIN)
    assert answer.headers.get_list("access-control-allow-origin") == ["*"]
    assert "access-control-allow-credentials" not in answer.headers
    assert "Link" in answer.headers["access-control-expose-headers"]
    assert "cookie" not in answer.headers["vary"].lower()


@pytest.mark.parametrize("path", [OWN_ACCOUNT, "/oauth/token", "/oauth/revoke", "/api/v1/apps"])
async def test_a_preflight_is_answered(open_api: OpenApi, path: str) -> None:
    wanted = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "authorization"}
    answer = await (await open_api()).http.options(path, headers=ORIGIN | wanted)
    assert answer.status_code == 204
    assert "PATCH" in answer.headers["access-control-allow-methods"]
    assert "Authorization" in answer.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/public/", "/oauth/authorize", "/accounts/login/", "/about/"])
async def test_pages_stay_closed_to_other_sites(alice: HttpBrowser, path: str) -> None:
    assert "access-control-allow-origin" not in (await alice.get(path, **ORIGIN)).headers


async def test_responses_name_the_limits_of_requests(limited_site: Services) -> None:
    async with ApiClient(application) as client:
        first = await client.get(OWN_ACCOUNT)
        assert first.headers["x-ratelimit-limit"] == "40"
        assert first.headers["x-ratelimit-remaining"] == "39"
        assert first.headers["x-ratelimit-reset"].endswith(":00.000Z")
        for _ in range(39):
            last = await client.get(OWN_ACCOUNT)
        assert last.headers["x-ratelimit-remaining"] == "0"
        refused = await client.get(OWN_ACCOUNT)
        assert refused.status_code == 429
        assert refused.headers["x-ratelimit-remaining"] == "0"
        assert set(refused.json()) == {"error"}
        assert refused.headers.get_list("access-control-allow-origin") == ["*"]


@pytest.mark.parametrize("path", ["//api/v1/instance", "/api//v1/instance/", "///api/v1//instance"])
async def test_repeated_slashes_of_an_address_count_once(open_api: OpenApi, path: str) -> None:
    """tuskyapp/Tusky#2425, halcy/Mastodon.py#70 and mastodon/mastodon#31378: apps join an origin that ends with one."""
    api = await open_api()
    answer = await api.http.get(f"http://testserver{path}")
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "*")
    assert answer.json()["title"]


async def test_a_hashtag_in_an_address_may_have_its_sign(site, world, open_api: OpenApi) -> None:
    (alice,) = await world.people("alice")
    await alice.publishes("hot #Tea")
    await world.deliver_all()
    api = await open_api("alice")
    for name in ("tea", "%23Tea"):
        (status,) = (await api.get(f"/api/v1/timelines/tag/{name}")).json()
        assert status["tags"][0]["name"] == (await api.get(f"/api/v1/tags/{name}")).json()["name"] == "tea"
