"""A client that behaves as a browser does: cookies, the token of the page, no redirect followed unasked.

It speaks to the real ASGI application in this process (`site`), or to a real daphne (`base_url`).
"""

import re
from http.cookies import SimpleCookie
from types import TracebackType
from typing import Any, Self

import httpx

from tests.support.visitor import PASSWORD

BASE_URL = "http://testserver"
JSON_HEADERS = {"Accept": "application/json"}


class HttpBrowser:
    """`get`, `post`; `get_json`, `post_json` ask for JSON. A POST sends the token of the cookie."""

    def __init__(
        self,
        application: Any = None,
        *,
        base_url: str = BASE_URL,
        client: tuple[str, int] = ("203.0.113.9", 4000),
    ) -> None:
        transport = httpx.ASGITransport(application, raise_app_exceptions=False, client=client) if application else None
        self.http = httpx.AsyncClient(transport=transport, base_url=base_url, timeout=20)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *failure: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.http.aclose()

    @property
    def csrf_token(self) -> str:
        return self.http.cookies.get("csrftoken") or ""

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.http.get(path, headers=headers)

    async def get_json(self, path: str) -> httpx.Response:
        return await self.http.get(path, headers=JSON_HEADERS)

    async def post(self, path: str, **fields: str) -> httpx.Response:
        """As a form of a page does."""
        await self.fetch_csrf_token()
        return await self.http.post(path, data={"csrfmiddlewaretoken": self.csrf_token, **fields})

    async def post_json(self, path: str, **fields: object) -> httpx.Response:
        """As a program does: JSON in, JSON out, the token in its header."""
        await self.fetch_csrf_token()
        return await self.http.post(path, json=fields, headers={**JSON_HEADERS, "X-CSRFToken": self.csrf_token})

    async def fetch_csrf_token(self) -> None:
        if not self.csrf_token:
            await self.http.get("/accounts/login/")

    async def sign_up(self, handle: str, password: str = PASSWORD) -> httpx.Response:
        return await self.post_json("/accounts/signup/", handle=handle, password1=password, password2=password)

    async def log_in(self, handle: str, password: str = PASSWORD) -> httpx.Response:
        return await self.post_json("/accounts/login/", username=handle, password=password)

    async def is_signed_in(self) -> bool:
        """Whether the site knows who asks."""
        status = (await self.get_json("/")).status_code
        assert status in (200, 401), status
        return status == 200

    async def post_ids(self, path: str) -> list[str]:
        """The entries of one page of a timeline, as they stand there."""
        return [post["id"] for post in (await self.get_json(path)).json()["posts"]]

    async def publish(self, text: str, **fields: object) -> dict[str, Any]:
        answer = await self.post_json("/posts/", text=text, **fields)
        assert answer.status_code == 201, answer.text
        post: dict[str, Any] = answer.json()
        return post


def cookies_of(response: httpx.Response) -> SimpleCookie:
    """What a response sets, with its attributes."""
    cookies = SimpleCookie()
    for header in response.headers.get_list("set-cookie"):
        cookies.load(header)
    return cookies


def hidden_field(html: str, name: str) -> str:
    """The value of a hidden input."""
    found = re.search(rf'name="{name}" value="([^"]*)"', html)
    assert found, f"no input {name}"
    return found[1]
