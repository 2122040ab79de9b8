"""The push subscription of an access token (https://docs.joinmastodon.org/methods/push/)."""

from django.utils.translation import get_language
from msgspec import structs

from socialsite.encryption import seal
from socialsite.errors import NotFound
from socialsite.web.requests import FormFields, SiteRequest, require_viewer_id
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields, flag
from timelines.notifications.kinds import KINDS, kinds_by_api_type
from timelines.pages.presenters import Json
from timelines.push.service import PushService
from timelines.push.subscription import POLICIES, SEALED_FOR, PushPolicy, PushSubscription


@endpoint("push", needs_account=True)
async def show(request: SiteRequest) -> Json:
    subscription = await request.services[PushService].find(require_viewer_id(request), _token_id(request))
    if subscription is None:
        raise NotFound
    return await _respond(request, subscription)


@endpoint("push", needs_account=True, names={"endpoint": "subscription[endpoint]", "keys": "subscription[keys]"})
async def create(request: SiteRequest) -> Json:
    """Subscribe the token in place of its earlier subscription. Messages contain the token, as apps expect it."""
    me, fields, service = require_viewer_id(request), api_fields(request), request.services[PushService]
    parsed = service.parse_subscription(
        endpoint=fields.get("subscription[endpoint]", ""),
        p256dh=fields.get("subscription[keys][p256dh]", ""),
        auth=fields.get("subscription[keys][auth]", ""),
    )
    subscription = structs.replace(
        parsed,
        kinds=_kinds(fields),
        policy=_policy(fields) or "all",
        is_standard=flag(fields, "subscription[standard]"),
        locale=get_language() or "en",
        sealed_token=seal(request.headers.get("Authorization", "").rpartition(" ")[2], SEALED_FOR),
    )
    await service.save(me, _token_id(request), subscription)
    return await _respond(request, subscription)


@endpoint("push", needs_account=True)
async def edit(request: SiteRequest) -> Json:
    me, fields = require_viewer_id(request), api_fields(request)
    service = request.services[PushService]
    return await _respond(request, await service.edit(me, _token_id(request), _kinds(fields), _policy(fields)))


@endpoint("push", needs_account=True)
async def delete(request: SiteRequest) -> None:
    await request.services[PushService].push_subscriptions.remove(require_viewer_id(request), _token_id(request))


def _token_id(request: SiteRequest) -> str:
    assert request.token is not None  # the endpoints of this module require an account
    return request.token.id


def _kinds(fields: FormFields) -> tuple[str, ...]:
    with_types = (kind for kind in KINDS.values() if kind.api_type)
    return tuple(kind.name for kind in with_types if flag(fields, f"data[alerts][{kind.api_type}]"))


def _policy(fields: FormFields) -> PushPolicy | None:
    text = fields.get("data[policy]", "") or fields.get("policy", "")
    return text if text in POLICIES else None


async def _respond(request: SiteRequest, subscription: PushSubscription) -> Json:
    """Respond with the entity WebPushSubscription."""
    alerts = {type: kinds[0].name in subscription.kinds for type, kinds in kinds_by_api_type().items()}
    unknown = dict.fromkeys(("status", "admin.sign_up", "admin.report"), False)
    return {
        "id": str(subscription.created_ms),
        "endpoint": subscription.endpoint,
        "standard": subscription.is_standard,
        "alerts": alerts | unknown,
        "policy": subscription.policy,
        "server_key": await request.services[PushService].public_key(),
    }
