"""A client that behaves like a browser: it sends cookies and the page's token, and follows no redirects.

Its server is the real ASGI application in this process (`site`) or a real daphne (`base_url`).
"""

import re
from http.cookies import SimpleCookie
from types import TracebackType
from typing import Any, Self

import httpx

from tests.support.own_json import check_own_json
from tests.support.visitor import PASSWORD, PLAIN_HTTP, TOKEN_COOKIE, record_token_cookie, reuse_token_cookie

BASE_URL = "http://testserver"
JSON_HEADERS = {"Accept": "application/json"}


class HttpBrowser:
    """HTTP client: `get`, `post`; `get_json` and `post_json` request JSON. A POST sends the cookie's token.

    Undeclared JSON of the site's own addresses fails the test (`check_own_json`).
    """

    def __init__(
        self, application: Any = None, *, base_url: str = BASE_URL, client: tuple[str, int] = ("203.0.113.9", 4000)
    ) -> None:
        transport = httpx.ASGITransport(application, raise_app_exceptions=False, client=client) if application else None
        hooks = {"response": [check_own_json]}
        self.http = httpx.AsyncClient(
            transport=transport, base_url=base_url, timeout=20, verify=PLAIN_HTTP, event_hooks=hooks
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *failure: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.http.aclose()

    @property
    def csrf_token(self) -> str:
        return self.http.cookies.get(TOKEN_COOKIE) or ""

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.http.get(path, headers=headers)

    async def get_json(self, path: str) -> httpx.Response:
        return await self.http.get(path, headers=JSON_HEADERS)

    async def post(self, path: str, **fields: str) -> httpx.Response:
        """Send a form, as a page does."""
        await self.fetch_csrf_token()
        return await self.http.post(path, data={"csrfmiddlewaretoken": self.csrf_token, **fields})

    async def post_json(self, path: str, **fields: object) -> httpx.Response:
        """Send and accept JSON, as an API client does, with the token in its header."""
        await self.fetch_csrf_token()
        return await self.http.post(path, json=fields, headers={**JSON_HEADERS, "X-CSRFToken": self.csrf_token})

    async def fetch_csrf_token(self) -> None:
        host, jar = self.http.base_url.host, self.http.cookies.jar
        if not self.csrf_token and not reuse_token_cookie(host, jar):
            await self.http.get("/accounts/login/")
            record_token_cookie(host, jar)

    async def sign_up(self, handle: str, password: str = PASSWORD) -> httpx.Response:
        return await self.post_json("/accounts/signup/", handle=handle, password1=password, password2=password)

    async def log_in(self, handle: str, password: str = PASSWORD) -> httpx.Response:
        return await self.post_json("/accounts/login/", username=handle, password=password)

    async def is_signed_in(self) -> bool:
        status = (await self.get_json("/")).status_code
        assert status in (200, 401), status
        return status == 200

    async def post_ids(self, path: str) -> list[str]:
        """Return the post ids on one page of a timeline, in its order."""
        return [post["id"] for post in (await self.get_json(path)).json()["posts"]]

    async def publish(self, text: str, **fields: object) -> dict[str, Any]:
        answer = await self.post_json("/posts/", text=text, **fields)
        assert answer.status_code == 201, answer.text
        post: dict[str, Any] = answer.json()
        return post


def cookies_of(response: httpx.Response) -> SimpleCookie:
    """Return the cookies that a response sets, with their attributes."""
    cookies = SimpleCookie()
    for header in response.headers.get_list("set-cookie"):
        cookies.load(header)
    return cookies


def hidden_field(html: str, name: str) -> str:
    """Return the value of a hidden input."""
    match = re.search(rf'name="{name}" value="([^"]*)"', html)
    assert match, f"no input {name}"
    return match[1]
