"""OAuth 2.0 for apps (RFC 6749, 7009, 7636, 8414, 9207), as Mastodon's clients use it."""

import re
import secrets
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import msgspec
import structlog
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from accounts.accounts.validation import InvalidText, clean_name
from accounts.errors import FieldErrors
from accounts.mail.service import MailService
from accounts.oauth.repository import OAuthRepository
from accounts.oauth.scopes import DEFAULT_SCOPE, are_known, includes, includes_all, parse_scopes
from accounts.oauth.values import (
    APP_SCHEMA_VERSION,
    CHALLENGE_PATTERN,
    OUT_OF_BAND,
    UNUSED_APP_TTL_MS,
    USED_APP_TTL_MS,
    AuthorizationCode,
    AuthorizationRequest,
    OAuthApp,
    OAuthError,
    matches_challenge,
)
from accounts.sessions.service import SessionService
from accounts.sessions.tokens import AccessTokenService
from accounts.sessions.values import TokenGrant, hash_secret
from socialsite.ids import AccountId, ClientId, TimeSource
from socialsite.limits import SITE, ActionLimits, Caller, address_factors, multiply_limit
from socialsite.service import Service

APP_NAME_MAX_LENGTH = 60
URI_MAX_LENGTH = 500
REDIRECT_URIS_MAX = 10
REDIRECT_URIS_MAX_LENGTH = 1_500
"""The maximum number of characters of all URIs of an app. Everybody may register an app, which is stored for a day."""
STATE_MAX_LENGTH = 4_096
APPS_PER_DAY_AND_ADDRESS, APPS_PER_DAY = 500, 10_000
"""The maximum numbers of registrations and of tokens of apps for themselves. They take at most 60 MB of the site."""
_HANDLED_NAMES = (
    "about acap acct admin android-app app-settings appstream apt bitcoin blob brave cap chrome "
    "chrome-extension cid content data dav dict dns edge facetime facetime-audio feed file filesystem finger "
    "fish ftp ftps geo git go googlechrome gopher help http https imap intent ipfs ipns irc ircs itms "
    "itms-apps itms-services jabber jar javascript ldap ldaps livescript mailto man market matrix mid mms "
    "mocha moz-extension ms-appinstaller ms-settings ms-windows-store msteams news nfs nntp onenote opera "
    "pkcs11 pop prefs res resource rlogin rsync rtsp search search-ms sftp shell shortcuts sip sips skype "
    "slack sms smb snmp ssh steam stun svn tel teams telnet tftp tg urn vbscript view-source vivaldi vnc "
    "webcal whatsapp workflow ws wss wyciwyg x-apple xmpp zoommtg"
)
_HANDLED_SCHEMES = frozenset(_HANDLED_NAMES.split())
"""Schemes that browsers, operating systems and well-known programs handle, or that lead to no app. Others may be those
of an app, with a dot (RFC 8252, 7.1) or, as many apps for Mastodon have them, without: icecubesapp, ivory, mona."""
_HANDLED_PREFIXES = ("ms-", "x-apple", "chrome", "moz-", "web+", "com.apple.", "x-web-search", "callto", "app-")
CLIENT_ID_PATTERN = re.compile(r"[0-9a-f]{32}")
_SCHEME_PATTERN = re.compile(r"[a-z][a-z0-9.+-]*")

log = structlog.get_logger("accounts.security")


class OAuthService(Service):
    """Registers apps, and issues codes and access tokens to them."""

    oauth: OAuthRepository
    access_tokens: AccessTokenService
    sessions: SessionService
    mail: MailService
    limits: ActionLimits
    clock: TimeSource

    async def register_app(
        self, *, name: str, website: str, redirect_uris: Sequence[str], scopes: str, caller: Caller
    ) -> tuple[OAuthApp, str]:
        """Return a new app and its secret. Raises FieldErrors, RateLimited."""
        await self.limits.enforce(caller, "app")
        app_scopes = parse_scopes(scopes) or (DEFAULT_SCOPE,)
        errors: dict[str, str] = {}
        try:
            name = clean_name(name, APP_NAME_MAX_LENGTH)  # the name is shown in a mail and on the consent page
        except InvalidText:
            errors["client_name"] = _("The name of an app has 1 to %d characters.") % APP_NAME_MAX_LENGTH
        if website and not (_is_redirect_uri(website) and website.startswith(("http://", "https://"))):
            errors["website"] = _("This is not a web address.")
        has_right_size = (
            0 < len(redirect_uris) <= REDIRECT_URIS_MAX and sum(map(len, redirect_uris)) <= REDIRECT_URIS_MAX_LENGTH
        )
        if not has_right_size or not all(map(_is_redirect_uri, redirect_uris)):
            errors["redirect_uris"] = _("The redirect addresses are missing or not allowed.")
        if not are_known(app_scopes):
            errors["scopes"] = _("One of the scopes is unknown.")
        if errors:
            raise FieldErrors(errors)
        await self._count_unused(caller)
        secret, now_ms = secrets.token_urlsafe(32), self.clock.now_ms()
        app = OAuthApp(
            APP_SCHEMA_VERSION, ClientId(secrets.token_hex(16)), name, website,
            tuple(redirect_uris), app_scopes, hash_secret(secret), now_ms,
        )  # fmt: skip
        await self.limits.enforce_bytes("apps", caller, len(msgspec.msgpack.encode(app)))
        await self.oauth.add_app(app, UNUSED_APP_TTL_MS)
        return app, secret

    async def find_app(self, client_id: str) -> OAuthApp | None:
        return await self.oauth.find_app(ClientId(client_id)) if CLIENT_ID_PATTERN.fullmatch(client_id) else None

    async def parse_authorization(self, query: Mapping[str, str]) -> tuple[OAuthApp, AuthorizationRequest]:
        """Return the app and its request to an account.

        Raises OAuthError. It has no request if the app or its redirect URI is unknown; then the browser must not be
        redirected.
        """
        app, redirect_uri = await self.find_app(query.get("client_id", "")), query.get("redirect_uri", "")
        if app is None:
            raise OAuthError("invalid_client", _("This app is not registered here, or its registration has expired."))
        if not app.may_return_to(redirect_uri):
            raise OAuthError("invalid_request", _("The app named an address to return to that it did not register."))
        state, challenge = query.get("state", ""), query.get("code_challenge", "")
        scopes = parse_scopes(query.get("scope", "")) or _default_scopes(app)
        request = AuthorizationRequest(app.id, redirect_uri, scopes, challenge, state[:STATE_MAX_LENGTH])
        if require_field(query, "response_type", request) != "code":
            raise OAuthError("unsupported_response_type", "Only code is supported.", request=request)
        if not includes_all(app.scopes, scopes):
            raise OAuthError("invalid_scope", "The app is not registered for these scopes.", request=request)
        method = query.get("code_challenge_method", "")
        if (challenge or method) and not (method == "S256" and CHALLENGE_PATTERN.fullmatch(challenge)):
            raise OAuthError("invalid_request", "PKCE needs a challenge by S256.", request=request)
        return app, request

    async def issue_code(self, account_id: AccountId, session_id: str, request: AuthorizationRequest) -> str:
        """Return a code with which the app gets its access token while the session is open."""
        secret, code = secrets.token_urlsafe(32), AuthorizationCode(account_id, session_id, request)
        await self.limits.enforce_bytes("codes", account_id, len(msgspec.msgpack.encode(code)))
        await self.oauth.add_code(secret, code)
        return secret

    async def exchange_code(
        self, client_id: str, client_secret: str | None, fields: Mapping[str, str], caller: Caller
    ) -> tuple[str, TokenGrant]:
        """Return the access token of a code. The code is used up in every case. Raises OAuthError, RateLimited.

        `fields` has `code`, `redirect_uri`, and `code_verifier` if the request had a challenge. A repetition ends the
        token that the code gave (RFC 6749, 4.1.2).
        """
        await self.limits.enforce(caller, "token")
        app = await self._authenticate(client_id, client_secret, is_public=client_secret is None)
        code = require_field(fields, "code")
        stored = await self.oauth.take_code(app.id, code)
        if isinstance(stored, str):
            log.info("code_replayed", app=app.id)
            await self.access_tokens.end_by_reference(stored)
            stored = None
        if stored is None or stored.request.redirect_uri != fields.get("redirect_uri", ""):
            raise OAuthError("invalid_grant", "The code is unknown, expired, used, or belongs to another redirect URI.")
        if not matches_challenge(fields.get("code_verifier", ""), stored.request.challenge):
            raise OAuthError("invalid_grant", "The code verifier does not match the challenge.")
        if client_secret is None and not stored.request.challenge:
            raise OAuthError("invalid_client", "An app without a secret needs PKCE.", 401)
        active = await self.sessions.find(stored.account_id, stored.session_id)
        if active is None:
            raise OAuthError("invalid_grant", "The account has withdrawn the code.")
        await self.oauth.extend_app(app.id, USED_APP_TTL_MS)
        grant = TokenGrant(app.id, app.name, stored.request.scopes, app.website)
        token = await self.access_tokens.issue(active[0], grant)
        await self.oauth.complete_code(app.id, code, self.access_tokens.reference(token))
        log.info("token_issued", account=stored.account_id, app=app.id)
        await self.mail.notify_if_available(stored.account_id, "new_app", app=app.name)
        return token, grant

    async def issue_app_token(
        self, client_id: str, client_secret: str | None, scope: str, caller: Caller
    ) -> tuple[str, TokenGrant]:
        """Return an access token that belongs to the app and to no account. Raises OAuthError, RateLimited."""
        await self.limits.enforce(caller, "token")
        app = await self._authenticate(client_id, client_secret)
        scopes = parse_scopes(scope) or _default_scopes(app)
        if not includes_all(app.scopes, scopes):
            raise OAuthError("invalid_scope", "The app is not registered for these scopes.")
        await self._count_unused(caller)
        grant = TokenGrant(app.id, app.name, scopes, app.website)
        return await self.access_tokens.issue(None, grant), grant

    async def _count_unused(self, caller: Caller) -> None:
        """Count an app, or a token of an app for itself, which no account has permitted. Raises RateLimited."""
        per_day = multiply_limit(address_factors(caller.address), APPS_PER_DAY_AND_ADDRESS) | {SITE: APPS_PER_DAY}
        await self.limits.enforce_daily_for(per_day, "apps")

    async def revoke(self, client_id: str, client_secret: str | None, token: str) -> None:
        """End a token of the app. It is no error if there is no such token. Raises OAuthError for another app's."""
        _account, found = await self.access_tokens.load(token)
        if found is None:
            return
        app = await self.find_app(client_id)
        is_right = client_secret is None or (app is not None and _has_secret(app, client_secret))
        if found.grant.app_id != client_id or not is_right:
            raise OAuthError("unauthorized_client", "This app may not end this token.", 403)
        await self.access_tokens.end(found)

    async def _authenticate(self, client_id: str, client_secret: str | None, *, is_public: bool = False) -> OAuthApp:
        """Return the app. A public app has no secret. Raises OAuthError."""
        app = await self.find_app(client_id)
        if app is None or not (is_public or _has_secret(app, client_secret or "")):
            raise OAuthError("invalid_client", "The app is unknown, or its secret is wrong.", 401)
        return app


def require_field(fields: Mapping[str, str], name: str, request: AuthorizationRequest | None = None) -> str:
    """Return a field that must not be empty. Raises OAuthError (RFC 6749, 5.2)."""
    if text := fields.get(name):
        return text
    raise OAuthError("invalid_request", f"The field {name} is missing.", request=request)


def _has_secret(app: OAuthApp, secret: str) -> bool:
    return constant_time_compare(hash_secret(secret), app.secret_hash)


def _default_scopes(app: OAuthApp) -> tuple[str, ...]:
    return (DEFAULT_SCOPE,) if includes(app.scopes, DEFAULT_SCOPE) else app.scopes


def _is_redirect_uri(uri: str) -> bool:
    """Return whether an app may use the URI: the out-of-band URN, a web address, or a scheme of its own."""
    if uri == OUT_OF_BAND:
        return True
    if len(uri) > URI_MAX_LENGTH or not uri.isascii() or not uri.isprintable() or re.search(r"[\s\\\"<>;,'#*]", uri):
        return False
    try:
        parts = urlsplit(uri)
        _port = parts.port
    except ValueError:
        return False
    if not uri.lower().startswith(f"{parts.scheme}:") or not _SCHEME_PATTERN.fullmatch(parts.scheme):
        return False
    if parts.scheme in ("http", "https"):
        return bool(parts.hostname) and "@" not in parts.netloc
    return parts.scheme not in _HANDLED_SCHEMES and not parts.scheme.startswith(_HANDLED_PREFIXES)
