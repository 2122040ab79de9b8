"""A client of the API with an access token, as apps have it."""

from types import TracebackType
from typing import Any, NamedTuple, Self

import httpx

from accounts.sessions.values import TokenGrant
from socialsite.container import Services
from tests.support.plain_http import PLAIN_HTTP

TEST_APP = "Test app"
ALL_SCOPES = "read write follow push"


async def create_token(services: Services, handle: str, scopes: str = ALL_SCOPES) -> str:
    """Return an access token of the account."""
    account = await services.accounts.get_by_handle(handle)
    return await services.access_tokens.issue(account, TokenGrant("", TEST_APP, tuple(scopes.split())))


class ApiSite(NamedTuple):
    """What presents entities without a request."""

    services: Services
    site_url: str = "https://example.org"


class ApiClient:
    """HTTP client with an access token. Without a token it is a visitor."""

    def __init__(self, application: Any = None, *, token: str = "", base_url: str = "http://testserver") -> None:
        transport = httpx.ASGITransport(application, raise_app_exceptions=False) if application else None
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.http = httpx.AsyncClient(
            transport=transport, base_url=base_url, headers=headers, timeout=20, verify=PLAIN_HTTP
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *failure: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.http.aclose()

    async def get(self, path: str, **params: Any) -> httpx.Response:
        return await self.http.get(path, params=params or None)

    async def post(self, path: str, **fields: Any) -> httpx.Response:
        """Send the fields as JSON."""
        return await self.http.post(path, json=fields)
