"""The pages and endpoints of OAuth: authorization, token, revocation and metadata."""

import base64
import binascii
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import unquote_plus, urlencode

from django.conf import settings
from django.http import HttpResponse, QueryDict
from django.middleware.csrf import get_token
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_variables

from accounts.models import Account
from accounts.oauth.scopes import SCOPES, describe_scopes
from accounts.oauth.service import OAuthService, require_field
from accounts.oauth.values import OUT_OF_BAND, AuthorizationRequest, OAuthApp, OAuthError
from accounts.security.events import SecurityEvents
from accounts.sessions.authentication import get_session, require_account
from accounts.sessions.values import TokenGrant
from socialsite.ids import AccountId
from socialsite.web.display import activate_language
from socialsite.web.requests import FormFields, SiteRequest, dispatch_by_method, get_form_data
from socialsite.web.responses import SeeOther, json_response, page_response

NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}
AUTHORIZATION_FIELDS = (
    "response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method", "lang",
)  # fmt: skip
TOKEN_FIELDS = {
    "grant_type", "client_id", "client_secret", "code", "code_verifier", "redirect_uri", "scope", "token",
}  # fmt: skip
TRUE_TEXTS = ("1", "true", "True")


async def consent_page(request: SiteRequest) -> HttpResponse:
    """Show the permissions that the app requests. A visitor logs in first."""
    query = request.GET.dict()
    if query.get("force_login") in TRUE_TEXTS:
        return _redirect_to_login(request)
    return await _authorize(request, query)


async def decide(request: SiteRequest) -> HttpResponse:
    """Return to the app with a code, or with an error if the person does not allow it."""
    return await _authorize(request, get_form_data(request))


async def _authorize(request: SiteRequest, fields: Mapping[str, str]) -> HttpResponse:
    """Respond to an authorization request, if it is valid."""
    activate_language(fields.get("lang", ""))
    account = require_account(request)
    try:
        app, asked = await request.services[OAuthService].parse_authorization(fields)
        if request.method == "POST":
            return await _issue_code(request, AccountId(account.id), app, asked)
        return _ask(request, account, app, asked)
    except OAuthError as error:
        if error.request is None or error.request.redirect_uri == OUT_OF_BAND:
            page = {"status": 400, "message": error.description, "page_title": error.description}
            return page_response(request, "errors/error.html", page, HTTPStatus.BAD_REQUEST)
        return _redirect_to_app(request, error.request, error=error.code, error_description=error.description)


def _ask(request: SiteRequest, account: Account, app: OAuthApp, asked: AuthorizationRequest) -> HttpResponse:
    get_token(request)
    query = request.GET
    page = {
        "page_title": _("Allow an app"),
        "app": app,
        "handle": account.handle,
        "permissions": describe_scopes(asked.scopes),
        "target": "" if asked.redirect_uri == OUT_OF_BAND else asked.target,
        "fields": [(name, query[name]) for name in AUTHORIZATION_FIELDS if name in query],
        "login_url": f"{settings.LOGIN_URL}?{urlencode({'next': request.get_full_path()})}",
    }
    return page_response(request, "accounts/authorize.html", page)


async def _issue_code(
    request: SiteRequest, account_id: AccountId, app: OAuthApp, asked: AuthorizationRequest
) -> HttpResponse:
    if get_form_data(request).get("decision") != "allow":
        raise OAuthError("access_denied", "The person did not allow it.", request=asked)
    session_id = get_session(request).session_id or ""
    code = await request.services[OAuthService].issue_code(account_id, session_id, asked)
    await request.services[SecurityEvents].record(account_id, "app_added", request.caller, name=app.name)
    if asked.redirect_uri == OUT_OF_BAND:
        return page_response(request, "accounts/authorized.html", {"code": code}, headers=NO_STORE)
    return _redirect_to_app(request, asked, code=code)


@csrf_exempt
@sensitive_variables()
async def issue_token(request: SiteRequest) -> HttpResponse:
    """Exchange a code for an access token, or issue a token of the app for itself."""
    fields, service = get_form_data(request), request.services[OAuthService]
    try:
        _refuse_query(request, fields)
        client_id, secret = _client_credentials(request, fields)
        match require_field(fields, "grant_type"):
            case "authorization_code":
                token, grant = await service.exchange_code(client_id, secret, fields, request.caller)
            case "client_credentials":
                scope = fields.get("scope", "")
                token, grant = await service.issue_app_token(client_id, secret, scope, request.caller)
            case _:
                raise OAuthError("unsupported_grant_type", "Use authorization_code or client_credentials.")
    except OAuthError as error:
        return _error_response(error)
    return token_response(request, token, grant)


@csrf_exempt
@sensitive_variables()
async def revoke_token(request: SiteRequest) -> HttpResponse:
    """End a token (RFC 7009). An unknown token has the same response as one that has ended."""
    fields = get_form_data(request)
    try:
        _refuse_query(request, fields)
        client_id, secret = _client_credentials(request, fields)
        await request.services[OAuthService].revoke(client_id, secret, require_field(fields, "token"))
    except OAuthError as error:
        return _error_response(error)
    return json_response({}, headers=NO_STORE)


async def metadata(request: SiteRequest) -> HttpResponse:
    """Describe the server (RFC 8414)."""
    issuer = issuer_url(request)
    methods = ["client_secret_basic", "client_secret_post", "none"]
    return json_response(
        {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}oauth/authorize",
            "token_endpoint": f"{issuer}oauth/token",
            "revocation_endpoint": f"{issuer}oauth/revoke",
            "app_registration_endpoint": f"{issuer}api/v1/apps",
            "service_documentation": "https://docs.joinmastodon.org/",
            "scopes_supported": SCOPES,
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "client_credentials"],
            "token_endpoint_auth_methods_supported": methods,
            "revocation_endpoint_auth_methods_supported": methods,
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
    )


def issuer_url(request: SiteRequest) -> str:
    return f"{request.site_url}/"


def token_response(request: SiteRequest, token: str, grant: TokenGrant) -> HttpResponse:
    """Return the entity Token (https://docs.joinmastodon.org/entities/Token/)."""
    data = {"access_token": token, "token_type": "Bearer", "scope": " ".join(grant.scopes)}
    return json_response(data | {"created_at": request.services.clock.now_ms() // 1000}, headers=NO_STORE)


def _refuse_query(request: SiteRequest, fields: FormFields) -> None:
    """Raise OAuthError if the address has a field that the body lacks. Addresses are logged (RFC 6749, 2.3.1)."""
    if TOKEN_FIELDS.intersection(request.GET).difference(fields):
        raise OAuthError("invalid_request", "Send these fields in the body, because addresses are logged.")


def _client_credentials(request: SiteRequest, fields: FormFields) -> tuple[str, str | None]:
    """Return id and secret of the app, of the body or of HTTP Basic. Raises OAuthError.

    The secret may be absent. An empty one counts as absent (RFC 6749, 2.3.1 and 3.2).
    """
    scheme, _space, encoded = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() != "basic":
        return fields.get("client_id", ""), fields.get("client_secret") or None
    try:
        client_id, colon, secret = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        colon = ""
    if not colon:
        raise OAuthError("invalid_client", "The header Authorization is not valid.", HTTPStatus.UNAUTHORIZED)
    return unquote_plus(client_id), unquote_plus(secret) or None


def _redirect_to_login(request: SiteRequest) -> SeeOther:
    """Redirect to the log-in page, and then back to the request without `force_login`."""
    query: QueryDict = request.GET.copy()
    del query["force_login"]
    return SeeOther(f"{settings.LOGIN_URL}?{urlencode({'next': f'{request.path}?{query.urlencode()}'})}")


def _redirect_to_app(request: SiteRequest, asked: AuthorizationRequest, **result: str) -> HttpResponse:
    """Redirect to any scheme; Django's redirect permits only those of the Web."""
    url = asked.redirect_url(issuer_url(request), **result)
    return HttpResponse(status=HTTPStatus.FOUND, headers={"Location": url, **NO_STORE})


def _error_response(error: OAuthError) -> HttpResponse:
    asks_credentials = {"WWW-Authenticate": 'Basic realm="OAuth"'} if error.status == HTTPStatus.UNAUTHORIZED else {}
    data = {"error": error.code, "error_description": error.description}
    return json_response(data, error.status, {**NO_STORE, **asks_credentials})


authorize = dispatch_by_method(GET=consent_page, POST=decide)
token = dispatch_by_method(POST=issue_token)
revoke = dispatch_by_method(POST=revoke_token)
server_metadata = dispatch_by_method(GET=metadata)
