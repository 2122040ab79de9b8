"""Values of OAuth: apps, authorization requests, authorization codes, and the errors of RFC 6749."""

import hashlib
import re
from typing import Final
from urllib.parse import urlencode, urlsplit

import msgspec
from fido2.utils import websafe_encode

from socialsite.ids import AccountId, ClientId

OUT_OF_BAND: Final = "urn:ietf:wg:oauth:2.0:oob"
"""A redirect URI without an address: the page shows the code, and the person copies it into the app."""
CODE_TTL_MS: Final = 10 * 60_000
UNUSED_APP_TTL_MS: Final = 24 * 3_600_000
"""Everybody may register an app. It is deleted after this time unless an account permits it something."""
USED_APP_TTL_MS: Final = 400 * 24 * 3_600_000
"""Time from the last token of an account until an app is deleted. Its tokens remain valid."""
APP_SCHEMA_VERSION: Final = 1
CHALLENGE_PATTERN = re.compile(r"[A-Za-z0-9_-]{43}")
_LOOPBACK_PATTERN = re.compile(r"\Ahttp://(127\.0\.0\.1|\[::1\]):[0-9]{1,5}(?=[/?]|\Z)")
_VERIFIER_PATTERN = re.compile(r"[A-Za-z0-9._~-]{43,128}")


class OAuthApp(msgspec.Struct, frozen=True, array_like=True):
    """A registered app. The store contains only the digest of its secret."""

    schema_version: int
    id: ClientId
    name: str
    website: str
    redirect_uris: tuple[str, ...]
    scopes: tuple[str, ...]
    secret_hash: str
    created_ms: int

    def __repr__(self) -> str:
        return f"<OAuthApp {self.id}>"

    def may_return_to(self, uri: str) -> bool:
        """Return whether the app registered the redirect URI. A loopback address may have any port (RFC 8252, 7.3)."""
        if uri in self.redirect_uris:
            return True
        return _without_loopback_port(uri) in map(_without_loopback_port, self.redirect_uris)


class AuthorizationRequest(msgspec.Struct, frozen=True, array_like=True):
    """The request of an app for access to an account. `challenge` is "" without PKCE."""

    app_id: ClientId
    redirect_uri: str
    scopes: tuple[str, ...]
    challenge: str = ""
    state: str = ""

    @property
    def target(self) -> str:
        """The place to which the browser returns: a host such as `phanpy.social`, or a scheme such as `ivory:`."""
        parts = urlsplit(self.redirect_uri)
        return parts.netloc if parts.scheme in ("http", "https") else f"{parts.scheme}:"

    def redirect_url(self, issuer: str, **result: str) -> str:
        """Return the redirect URI with the result, `state` and the issuer (RFC 9207)."""
        state = {"state": self.state} if self.state else {}
        separator = "&" if "?" in self.redirect_uri else "?"  # parsing would change URIs such as "app://"
        return self.redirect_uri + separator + urlencode({**result, **state, "iss": issuer})


class AuthorizationCode(msgspec.Struct, frozen=True, array_like=True):
    """The stored value of a code. It ends with the session in which the account permitted it."""

    account_id: AccountId
    session_id: str
    request: AuthorizationRequest


class OAuthError(Exception):
    """An error of RFC 6749. `code` is for programs, `description` for developers.

    With the authorization request the browser may return to the app with the error.
    """

    def __init__(
        self, code: str, description: str, status: int = 400, request: AuthorizationRequest | None = None
    ) -> None:
        super().__init__(code)
        self.code, self.description, self.status, self.request = code, description, status, request


def _without_loopback_port(uri: str) -> str:
    return _LOOPBACK_PATTERN.sub(r"http://\1", uri)


def matches_challenge(verifier: str, challenge: str) -> bool:
    """Return whether a verifier has this S256 challenge (RFC 7636). Without a challenge there is no verifier."""
    if not challenge or not verifier:
        return not challenge and not verifier
    digest = hashlib.sha256(verifier.encode("ascii", "replace")).digest()
    return websafe_encode(digest) == challenge and _VERIFIER_PATTERN.fullmatch(verifier) is not None
