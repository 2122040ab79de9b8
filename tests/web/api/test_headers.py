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
    answer = await alice.get(path, **ORIGIN)
    assert "access-control-allow-origin" not in answer.headers


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
