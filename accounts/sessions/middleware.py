"""Reads the session, the account and the rate limit of the address in one round trip.

Requests to the API have an access token, which sets request.account and request.token; their cookies are ignored.
For all other requests the middleware sets request.session and request.account (Account or None). After the view it
saves a changed session and sets or deletes the cookie, as Django's SessionMiddleware does, but without a thread.
"""

from collections.abc import Awaitable
from contextlib import suppress

from django.conf import settings
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.exceptions import SessionInterrupted
from django.http.response import HttpResponseBase

from accounts.ports import BadgePort
from accounts.sessions.service import SessionService
from accounts.sessions.tokens import AccessTokenService, parse_bearer
from accounts.sessions.values import SessionToken
from socialsite.errors import RateLimited
from socialsite.ids import AccountId
from socialsite.limits import ActionLimits, raise_if_refused
from socialsite.recipes.rate_limit import parse_decision
from socialsite.store.commands import Command
from socialsite.store.errors import StoreUnavailable
from socialsite.web.middleware.base import PROBE_PATHS, Middleware
from socialsite.web.middleware.errors import respond_to_error
from socialsite.web.requests import SAFE_METHODS, SiteRequest, is_api_path, wants_json
from socialsite.web.responses import set_own_cookie

STREAMING_PREFIX = "/api/v1/streaming"


class SessionMiddleware(Middleware):
    """Answers 503 if the session or the account cannot be read; an error never means "signed out"."""

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        request.account, is_api = None, is_api_path(request.path_info)
        if request.path_info in PROBE_PATHS:
            return await self.get_response(request)
        try:
            await (load_token(request) if is_api else load_session(request))
        except (StoreUnavailable, RateLimited) as error:
            return respond_to_error(request, error)
        response = await self.get_response(request)
        try:
            if not is_api:
                await save_session(request, response)
        except StoreUnavailable as error:
            return respond_to_error(request, error)
        return response


async def load_token(request: SiteRequest) -> None:
    """Read the access token and its account, and count the request. Raises RateLimited, StoreUnavailable."""
    tokens, text = request.services[AccessTokenService], find_bearer_token(request)
    reads = tokens.read_commands(text)
    hits = request.services[ActionLimits].address_commands(request.client_address)
    replies = await request.services.store.execute_all([*reads, *hits])
    request.account, token = tokens.parse_replies(text, replies[: len(reads)])
    request.token, request.has_invalid_token = token, token is None and bool(text or "access_token" in request.GET)
    request.decisions = [parse_decision(reply) for reply in replies[len(reads) :]]
    for decision in request.decisions:
        raise_if_refused(decision)
    await _store_last_use(request, tokens.touch(token))


def find_bearer_token(request: SiteRequest) -> str:
    """Return the token of the Authorization header, or for a stream the token of the query string, or ""."""
    text = parse_bearer(request.META.get("HTTP_AUTHORIZATION", ""))
    if text is None and request.path_info.startswith(STREAMING_PREFIX):
        return request.GET.get("access_token", "")
    return text or ""


async def load_session(request: SiteRequest) -> None:
    """Read the viewer, and count the request for its address. Raises RateLimited, StoreUnavailable."""
    services, now_ms = request.services, request.services.clock.now_ms()
    cookie = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    reads = services[SessionService].read_session_commands(cookie)
    hits = services[ActionLimits].address_commands(request.client_address)
    badge = _badge_commands(request, cookie)
    try:
        replies = await services.store.execute_all([*reads, *hits, *badge])
    except StoreUnavailable:
        if not (hits or badge) or request.method not in SAFE_METHODS:
            raise
        # The page is shown without limits and badge if their servers are down.
        replies, hits, badge = await services.store.execute_all(reads), [], []
    account, session = services[SessionService].parse_session_replies(cookie, replies[: len(reads)], now_ms)
    request.account, request.session = account, session
    for reply in replies[len(reads) : len(reads) + len(hits)]:
        raise_if_refused(parse_decision(reply))
    if badge and account is not None:
        with suppress(StoreUnavailable):  # the page is shown without a badge
            request.badge = await services[BadgePort].parse_reply(AccountId(account.id), replies[-1])
    await _store_last_use(request, services[SessionService].touch(session, now_ms))


async def _store_last_use(request: SiteRequest, touch: Awaitable[None]) -> None:
    """Await the write. If the store rejects writes, a page is shown, and a later request writes the last use."""
    try:
        await touch
    except StoreUnavailable:
        if request.method not in SAFE_METHODS:
            raise


def _badge_commands(request: SiteRequest, cookie: str | None) -> list[Command]:
    """Return the commands that read the newest notification; none for requests that are not pages.

    Most pages need no second read.
    """
    token = SessionToken.parse(cookie)
    if token is None or request.method not in SAFE_METHODS or wants_json(request):
        return []
    return [request.services[BadgePort].read_command(token.owner)]


async def save_session(request: SiteRequest, response: HttpResponseBase) -> None:
    """Save a changed session and set its cookie. Delete the cookie of an empty session."""
    session = request.session
    if session.is_empty():
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            response.delete_cookie(settings.SESSION_COOKIE_NAME, samesite="Lax")
            _clear_viewer_cookie(request, response)
        return
    if not session.modified or response.status_code >= 500:
        return
    try:
        await session.asave()
    except UpdateError as error:
        raise SessionInterrupted("the session ended while the request ran") from error
    if session.session_key:  # only the session of an account is stored
        set_own_cookie(response, settings.SESSION_COOKIE_NAME, session.session_key, session.get_expiry_age())
        _clear_viewer_cookie(request, response)


def _clear_viewer_cookie(request: SiteRequest, response: HttpResponseBase) -> None:
    """Empty the cookie of static/js/backforward.js: pages of the earlier session are not shown again."""
    if settings.VIEWER_COOKIE_NAME in request.COOKIES:
        response.set_cookie(settings.VIEWER_COOKIE_NAME, secure=settings.SESSION_COOKIE_SECURE, samesite="Lax")
