"""A client of the API with an access token, and the steps of OAuth, as an app and a person take them."""

import base64
import hashlib
import re
from dataclasses import dataclass, field
from html import unescape
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from accounts.sessions.values import TokenGrant
from socialsite.container import Services
from tests.support.browser import HttpBrowser
from tests.support.visitor import PLAIN_HTTP

TEST_APP = "Test app"

ALL_SCOPES = "read write follow push"


async def create_token(services: Services, handle: str, scopes: str = ALL_SCOPES) -> str:
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


REDIRECT_URI = "https://app.example/callback"

OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"

VERIFIER = "v" * 43

CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


@dataclass
class OAuthClient:
    """A registered app."""

    http: httpx.AsyncClient
    registration: dict[str, Any]
    redirect_uri: str = REDIRECT_URI
    scopes: str = "read write follow push"
    fields: dict[str, str] = field(default_factory=dict)

    @classmethod
    async def register(
        cls, http: httpx.AsyncClient, redirect_uri: str = REDIRECT_URI, scopes: str = "read write follow push"
    ) -> "OAuthClient":
        fields = {"client_name": "An app", "redirect_uris": redirect_uri, "scopes": scopes}
        answer = await http.post("/api/v1/apps", data=fields)
        assert answer.status_code == 200, answer.text
        return cls(http, answer.json(), redirect_uri, scopes)

    @property
    def id(self) -> str:
        return str(self.registration["client_id"])

    @property
    def secret(self) -> str:
        return str(self.registration["client_secret"])

    def query(self, **fields: str) -> dict[str, str]:
        """Return the fields of an authorization request. An empty text leaves a field out."""
        query = {"response_type": "code", "client_id": self.id, "redirect_uri": self.redirect_uri, "scope": self.scopes}
        return {name: value for name, value in (query | fields).items() if value}

    async def authorize(self, browser: HttpBrowser, decision: str = "allow", **fields: str) -> httpx.Response:
        """Open the consent page, and send its form. Returns the page if it has no form."""
        page = await browser.get(f"/oauth/authorize?{urlencode(self.query(**fields))}")
        inputs = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page.text)
        if page.status_code != 200 or 'name="decision"' not in page.text:
            return page
        sent = {unescape(name): unescape(value) for name, value in inputs if name != "next"}
        return await browser.http.post("/oauth/authorize", data=sent | {"decision": decision})

    async def get_code(self, browser: HttpBrowser, **fields: str) -> str:
        answer = await self.authorize(browser, **fields)
        assert answer.status_code == 302, answer.text
        return result_of(answer)["code"]

    async def exchange(self, code: str, **fields: str) -> httpx.Response:
        """Exchange a code for a token. An empty text leaves a field out."""
        body = {
            "grant_type": "authorization_code", "client_id": self.id, "client_secret": self.secret,
            "redirect_uri": self.redirect_uri, "code": code,
        } | fields  # fmt: skip
        return await self.http.post("/oauth/token", data={name: value for name, value in body.items() if value})

    async def get_token(self, browser: HttpBrowser, **fields: str) -> str:
        answer = await self.exchange(await self.get_code(browser, **fields))
        assert answer.status_code == 200, answer.text
        return str(answer.json()["access_token"])


def result_of(answer: httpx.Response) -> dict[str, str]:
    """Return the query with which the browser returns to the app."""
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
