"""The steps of OAuth, as an app and a person take them."""

import base64
import hashlib
import re
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from tests.support.browser import HttpBrowser

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
