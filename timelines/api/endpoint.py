"""The decorator of every endpoint of the API. It checks the access token.

An endpoint parses its fields, calls a service, and returns data, which is encoded as JSON; nothing becomes `{}`. It
may return a response instead. It reads no cookie, so it needs no CSRF token.
`request.account` and `request.token` belong to the access token (accounts/sessions/middleware.py).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from typing import Concatenate, NamedTuple

from django.http.response import HttpResponseBase

from accounts.errors import AccountRequired, InvalidToken, MissingScope
from accounts.oauth.scopes import includes
from socialsite.web.requests import AsyncView, P, SiteRequest
from socialsite.web.responses import json_response
from timelines.api.fields import rename_error_fields


class Access(NamedTuple):
    """The scopes of an endpoint (a token needs one of them), and whether a request needs a token."""

    scopes: Sequence[str | None]
    needs_token: bool


DataView = Callable[Concatenate[SiteRequest, P], Awaitable[object]]


def endpoint(
    *scopes: str | None, needs_account: bool = False, needs_token: bool = False, names: Mapping[str, str] | None = None
) -> Callable[[DataView[P]], AsyncView[P]]:
    """Check that a token has one of the scopes, before the view is called.

    Without a token the view is called for a visitor, unless it needs an account or a token. If the scope is
    None, an invalid token is ignored. Errors name a field by `names`, if it has another name in the API.

    Raises InvalidToken (401), MissingScope (403), AccountRequired (422).
    """

    def mark(view: DataView[P]) -> AsyncView[P]:
        @wraps(view)
        async def check_and_call(request: SiteRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            check_token(request, scopes, needs_account=needs_account, needs_token=needs_token)
            with rename_error_fields(names or {}):
                data = await view(request, *args, **kwargs)
            return data if isinstance(data, HttpResponseBase) else json_response({} if data is None else data)

        check_and_call.csrf_exempt = True  # type: ignore[attr-defined]  # read by Django
        check_and_call.access = Access(scopes, needs_account or needs_token)  # type: ignore[attr-defined]
        return check_and_call

    return mark


def constant(data: object, *scopes: str | None, needs_account: bool = False) -> AsyncView[...]:
    """Return an endpoint that always returns `data`, for a feature that the site does not have."""

    @endpoint(*scopes, needs_account=needs_account)
    async def view(request: SiteRequest, /, **arguments: object) -> object:
        return data

    return view


def check_token(
    request: SiteRequest, scopes: Sequence[str | None], *, needs_account: bool = False, needs_token: bool = False
) -> None:
    """Check the token as `endpoint` does. The views of uploads call this before they read the body."""
    token = request.token
    if token is None:
        if needs_account or needs_token or (request.has_invalid_token and scopes != (None,)):
            raise InvalidToken(is_missing=not request.has_invalid_token)
        return
    named = [scope for scope in scopes if scope]
    if scopes != (None,) and not any(includes(token.scopes, scope) for scope in named):
        raise MissingScope(named[0])
    if needs_account and request.account is None:
        raise AccountRequired
