"""On a members-only site, visitors read only the pages of ALLOWED_ROUTES. All other pages lead to the log-in.

Sockets are checked at their handshake (accounts/sessions/sockets.py), and closed when the site becomes members-only
(timelines/live/server.py).
"""

from collections.abc import Callable
from typing import Any

from django.http.response import HttpResponseBase

from socialsite.errors import SignInRequired
from socialsite.site.service import SiteService
from socialsite.web.middleware.base import Middleware
from socialsite.web.middleware.errors import respond_to_error
from socialsite.web.requests import SiteRequest

ALLOWED_ROUTES = frozenset(
    {
        # log-in, sign-up, and links in mails
        "accounts/login/", "accounts/login/factor/", "accounts/login/passkey/", "accounts/login/options/",
        "accounts/logout/", "accounts/signup/", "accounts/waiting/", "invite/<str:code>/",
        "accounts/reset/", "accounts/reset/confirm/", "accounts/suspended/",
        "accounts/mail/confirm/", "accounts/mail/unsubscribe/",
        # about the site
        "about/", "rules/", "privacy/", "terms/", "display/", "accent/<slug:colour>.css",
        "logo/<media_name:logo>/<media_size:size>.webp",
        # for programs
        "livez", "readyz", "metrics", "robots.txt", "favicon.ico", "manifest.webmanifest", "sw.js", "offline/",
        ".well-known/security.txt", ".well-known/change-password", ".well-known/nodeinfo", "nodeinfo/2.0", "health",
        "api/v1/streaming/health",
        # apps: what they need before they have a token of an account
        "oauth/authorize", "oauth/authorize/", "oauth/token", "oauth/revoke", ".well-known/oauth-authorization-server",
        "api/v1/apps", "api/v1/apps/verify_credentials", "api/v1/instance", "api/v2/instance",
        "api/v1/instance/rules", "api/v1/instance/extended_description", "api/v1/instance/privacy_policy",
        "api/v1/instance/terms_of_service", "api/v1/instance/languages",
    }
)  # fmt: skip
"""Routes of the URLconf that never show an account, a post or a picture to a visitor."""
ALLOWED_ACTIONS = frozenset({("POST", "api/v1/accounts")})
"""Methods and routes of actions for visitors: the sign-up in an app. Other methods of these routes are for members."""

KEYED_ROUTE = "media/<media_name:name>/<media_size:size>.<media_extension:extension>"
"""The route of pictures, which checks the key of the URL that an app has got."""


def is_members_only(request: SiteRequest) -> bool:
    """Return whether the site shows nothing to visitors. Probes of monitoring have no services and are never hidden."""
    return hasattr(request, "services") and request.services[SiteService].settings.members_only


class MembersOnlyMiddleware(Middleware):
    """Denies visitors all routes that are not listed, before the view is called."""

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        """Let no shared cache store the response of a member."""
        response = await self.get_response(request)
        caching = response.headers.get("Cache-Control", "")
        if caching.startswith("public") and is_members_only(request):
            response.headers["Cache-Control"] = caching.replace("public", "private", 1)
        return response

    async def process_view(
        self, request: SiteRequest, view: Callable[..., Any], args: Any, kwargs: Any
    ) -> HttpResponseBase | None:
        if request.account is not None or not is_members_only(request):
            return None
        route = request.resolver_match.route if request.resolver_match else ""
        if route in ALLOWED_ROUTES or (request.method, route) in ALLOWED_ACTIONS:
            return None
        if route == KEYED_ROUTE and "key" in request.GET:
            return None
        response = respond_to_error(request, SignInRequired())
        response.headers["Cache-Control"] = "private, no-store"
        return response
