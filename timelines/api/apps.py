"""Registration of apps (https://docs.joinmastodon.org/methods/apps/)."""

from accounts.oauth.service import OAuthService
from accounts.oauth.values import OAuthApp
from socialsite.web.requests import SiteRequest
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields
from timelines.pages.presenters import Json
from timelines.push.service import PushService


@endpoint(None)
async def create(request: SiteRequest) -> Json:
    """Register an app. `redirect_uris` is a list, or a text with one address in each line."""
    fields = api_fields(request)
    app, secret = await request.services[OAuthService].register_app(
        name=fields.get("client_name", ""),
        website=fields.get("website", ""),
        redirect_uris=[uri for text in fields.values_of("redirect_uris") for uri in text.split()],
        scopes=" ".join(fields.values_of("scopes")),
        caller=request.caller,
    )
    expires = {"client_secret": secret, "client_secret_expires_at": 0}
    key = await request.services[PushService].public_key()
    return _application(app, key) | {"client_id": app.id} | expires


@endpoint(None, needs_token=True)
async def verify_credentials(request: SiteRequest) -> Json:
    """Return the app of the access token."""
    assert request.token is not None
    grant = request.token.grant
    app = await request.services[OAuthService].find_app(grant.app_id)
    if app is not None:
        return _application(app, await request.services[PushService].public_key())
    return {"name": grant.app_name, "website": grant.website or None, "scopes": grant.scopes}


def _application(app: OAuthApp, vapid_key: str) -> Json:
    """Return the entity Application (https://docs.joinmastodon.org/entities/Application/)."""
    return {
        "id": app.id,
        "name": app.name,
        "website": app.website or None,
        "scopes": app.scopes,
        "redirect_uri": "\n".join(app.redirect_uris),
        "redirect_uris": app.redirect_uris,
        "vapid_key": vapid_key,
    }
