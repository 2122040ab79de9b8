"""A members-only site shows visitors nothing: every address and socket is requested without a log-in."""

import re
from collections.abc import AsyncIterator
from http import HTTPStatus

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from socialsite.asgi import application
from socialsite.container import Services
from socialsite.web.middleware.members_only import ALLOWED_ACTIONS, ALLOWED_ROUTES
from tests.support.api import ApiClient, OAuthClient, create_token
from tests.support.browser import JSON_HEADERS, HttpBrowser
from tests.support.daphnes import DaphneProcess
from tests.support.pictures import encode_all, picture, uploaded
from tests.support.routes import SAMPLES, api_routes, fill_pattern, routes
from tests.support.sockets import open_socket, sign_in_cookie
from tests.support.waiting import eventually
from tests.support.world import World
from tests.web.conftest import OpenBrowser

HANDLE, TEXT, TAG = "zebracanary", "canarywords", "canarytag"
SHAPES = ({}, JSON_HEADERS)
PATTERNS = {route.pattern: route for route in (*routes(), *api_routes())}
CLOSE_DEADLINE_S = 10.0
"""The site has two seconds; the rest is for a busy machine."""


class Scene:
    """A site with a public post with a picture, a hashtag and an avatar, all marked by words."""

    def __init__(self, site: Services, ids: dict[str, str], post_url: str) -> None:
        self.site, self.post_url, self._ids = site, post_url, ids
        self.marks = re.compile(f"{HANDLE}|{TEXT}|{TAG}|{ids['name']}", re.IGNORECASE)

    def path(self, pattern: str) -> str:
        return fill_pattern(pattern, self._ids)

    @property
    def open_paths(self) -> list[str]:
        """Some pages that a visitor of another site may read."""
        patterns = ("/public/", "/@<handle:handle>/", "/@<handle:handle>/feed.atom", "/tags/<str:tag>/")
        media = next(pattern for pattern in PATTERNS if "media_name" in pattern)
        return [self.post_url, *map(self.path, (*patterns, media))]

    @property
    def paths(self) -> list[str]:
        extra = [f"/search/?q={TEXT}", "/api/v2/search?q=canary", f"/search/complete/?q=%40{HANDLE[:5]}", "/?page=2"]
        return sorted(self.path(pattern) for pattern in PATTERNS) + extra


@pytest.fixture
async def scene(site: Services, alice: HttpBrowser, open_browser: OpenBrowser) -> AsyncIterator[Scene]:
    canary = await open_browser(HANDLE)
    account = await site.accounts.get_by_handle(HANDLE)
    row = await site.media.upload(owner_id=account.id, content=uploaded(picture()))
    await encode_all(site)
    post = await canary.post_json("/posts/", text=f"{TEXT} #{TAG}", media_ids=[str(row.id)])
    assert post.status_code == 201, post.text
    await World(site).deliver_all()
    post_id = post.json()["id"]
    ids = SAMPLES | {
        "handle": HANDLE, "post_id": post_id, "account_id": str(account.id), "tag": TAG, "media_id": str(row.id),
        "stream": "public", "name": row.name, "extension": "jpg", "code": f"{account.id}-{'A' * 22}",
    }  # fmt: skip
    yield Scene(site, ids, post.json()["url"])
    await site.site.change(members_only=False)  # a daphne that starts before the next test reads the same store


@pytest.fixture
async def app_without_account(site: Services) -> AsyncIterator[ApiClient]:
    """An app with a token of its own, which belongs to no account."""
    async with ApiClient(application) as visitor:
        app = await OAuthClient.register(visitor.http)
        fields = {"grant_type": "client_credentials", "client_id": app.id, "client_secret": app.secret}
        token = (await visitor.http.post("/oauth/token", data=fields)).json()["access_token"]
    async with ApiClient(application, token=token) as client:
        yield client


async def leaks(
    scene: Scene, client: httpx.AsyncClient, headers: dict[str, str], paths: list[str] | None = None
) -> list[str]:
    found = []
    for path in paths or scene.paths:
        answer = await client.get(path, headers=headers)
        if scene.marks.search(answer.text) or answer.headers["content-type"].startswith("image/"):
            found.append(path)
    return found


async def test_a_visitor_reads_nothing_at_any_address(scene: Scene, visitor: HttpBrowser) -> None:
    assert await leaks(scene, visitor.http, {}, scene.open_paths) == scene.open_paths
    await scene.site.site.change(members_only=True)
    for headers in SHAPES:
        assert await leaks(scene, visitor.http, headers) == []


async def test_an_app_without_an_account_reads_nothing(scene: Scene, app_without_account: ApiClient) -> None:
    paths = ["/api/v1/timelines/public", scene.path("/api/v1/statuses/<id:post_id>")]
    assert await leaks(scene, app_without_account.http, {}, paths) == paths
    await scene.site.site.change(members_only=True)
    assert await leaks(scene, app_without_account.http, {}) == []
    assert (await app_without_account.get("/api/v1/apps/verify_credentials")).status_code == 200


async def test_a_visitor_changes_nothing_and_errors_show_nothing(scene: Scene, visitor: HttpBrowser) -> None:
    await scene.site.site.change(members_only=True)
    await visitor.fetch_csrf_token()
    headers = {"X-CSRFToken": visitor.csrf_token}
    for pattern, route in PATTERNS.items():
        for method in sorted(route.methods - {"GET", "HEAD"}) or ["POST"]:
            path = scene.path(pattern)
            answer = await visitor.http.request(method, path, data={"text": "words"}, headers=headers)
            assert not scene.marks.search(answer.text), (method, path)
            if pattern.removeprefix("/") not in ALLOWED_ROUTES and (method, pattern[1:]) not in ALLOWED_ACTIONS:
                assert answer.status_code in (303, 401, 403), (method, path, answer.status_code)


async def test_a_member_reads_as_before_and_no_shared_cache_may_store_it(scene: Scene, alice: HttpBrowser) -> None:
    before = await leaks(scene, alice.http, {}, scene.open_paths)
    await scene.site.site.change(members_only=True)
    assert await leaks(scene, alice.http, {}, scene.open_paths) == before
    for path in before:
        caching = (await alice.get(path)).headers["cache-control"]
        assert "private" in caching or "no-store" in caching, (path, caching)
    async with ApiClient(application, token=await create_token(scene.site, "alice")) as client:
        assert scene.marks.search((await client.get("/api/v1/timelines/public")).text)


async def test_a_visitor_is_led_to_the_log_in_and_back(scene: Scene, visitor: HttpBrowser, alice: HttpBrowser) -> None:
    await scene.site.site.change(members_only=True)
    for path in ("/", scene.post_url, f"/search/?q={TEXT}"):
        answer = await visitor.get(path)
        assert answer.status_code == HTTPStatus.SEE_OTHER
        assert answer.headers["location"] == f"/accounts/login/?{httpx.QueryParams({'next': path})}"
        assert answer.headers["cache-control"] == "private, no-store"
    assert (await visitor.get_json("/")).status_code == HTTPStatus.UNAUTHORIZED
    answer = await visitor.post("/accounts/login/", username="alice", password="wrong", next=scene.post_url)
    assert not scene.marks.search(answer.text.replace(scene.post_url, ""))
    for path in ("/accounts/login/", "/accounts/signup/", "/accounts/reset/", "/about/", "/livez", "/health"):
        assert (await visitor.get(path)).status_code == HTTPStatus.OK, path


async def test_counts_are_not_public(scene: Scene, visitor: HttpBrowser, alice: HttpBrowser) -> None:
    assert (await visitor.get_json("/nodeinfo/2.0")).json()["usage"]["users"]["total"] == 2
    await scene.site.site.change(members_only=True)
    assert (await visitor.get_json("/nodeinfo/2.0")).json()["usage"] == {"users": {}}
    stats = (await visitor.get_json("/api/v1/instance")).json()["stats"]
    assert (stats["user_count"], stats["status_count"]) == (0, 0)
    assert (await visitor.get_json("/api/v2/instance")).json()["usage"] == {"users": {"active_month": 0}}
    assert "posts_today" not in (await visitor.get_json("/about/")).json()


def test_every_allowed_route_exists() -> None:
    existing = {pattern.removeprefix("/"): route for pattern, route in PATTERNS.items()}
    assert existing.keys() >= ALLOWED_ROUTES
    for method, route in ALLOWED_ACTIONS:
        assert method in existing[route].methods


async def test_sockets_of_visitors_are_closed_and_refused(
    daphne: DaphneProcess, services: Services, world: World
) -> None:
    bob = await world.person("bob")
    cookie = await sign_in_cookie(bob)
    async with httpx.AsyncClient(base_url=daphne.origin) as client:
        async with open_socket(daphne) as visitor, open_socket(daphne, cookie) as member:
            await visitor.subscribe("public")
            await member.subscribe("public")
            await services.site.change(members_only=True)
            assert await visitor.close_code(CLOSE_DEADLINE_S) == 4401
            post = await bob.publishes("only for members")
            await member.receive_entry(post.id)
        with pytest.raises(InvalidStatus) as refused:
            async with open_socket(daphne):
                pass
        assert refused.value.response.status_code == HTTPStatus.UNAUTHORIZED
        for stream in ("public", "public/local", "hashtag?tag=tea"):
            assert (await client.get(f"/api/v1/streaming/{stream}")).status_code == HTTPStatus.UNAUTHORIZED
        await services.site.change(members_only=False)

        async def is_open() -> bool:
            return (await client.get("/public/")).status_code == HTTPStatus.OK

        await eventually(is_open)
