"""The page of the notifications that this browser receives by push messages."""

from django.http.response import HttpResponseBase
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from msgspec import structs

from socialsite.errors import NotFound
from socialsite.web.requests import SiteRequest, get_form_data, require_viewer_id
from socialsite.web.responses import done, respond
from timelines.notifications.kinds import KINDS
from timelines.pages.presenters import Json
from timelines.push.service import PushService
from timelines.push.subscription import PushSubscription

DEVICE_URL = "/accounts/notifications/device/"


async def show(request: SiteRequest) -> HttpResponseBase:
    me, service = require_viewer_id(request), request.services[PushService]
    subscription = await service.find(me, _session_id(request))
    public_key, shows_text = await service.public_key(), await service.push_subscriptions.shows_text(me)
    chosen = subscription.kinds if subscription else ()
    return respond(
        request,
        "accounts/device.html",
        page=lambda: {
            "public_key": public_key,
            "subscription": subscription,
            "shows_text": shows_text,
            "choices": [{"kind": kind, "is_chosen": name in chosen} for name, kind in KINDS.items()],
        },
        data=lambda: _device_json(subscription, public_key, shows_text=shows_text),
    )


async def save(request: SiteRequest) -> HttpResponseBase:
    """Subscribe this browser if the request has an `endpoint`. Otherwise change its kinds and the text of messages.

    With `replaces`, the former endpoint or "", renew the subscription of this session.
    """
    me, fields, service = require_viewer_id(request), get_form_data(request), request.services[PushService]
    session_id = _session_id(request)
    if "endpoint" in fields:
        names = ("endpoint", "p256dh", "auth")
        subscription = service.parse_subscription(**{name: fields.get(name, "") for name in names})
        if "replaces" in fields:
            subscription = await service.renew(me, session_id, fields.get("replaces", ""), subscription)
        else:
            subscription = structs.replace(subscription, locale=get_language() or "en")
            await service.save(me, session_id, subscription)
    else:
        await service.push_subscriptions.set_shows_text(me, fields.get("text") == "full")
        kinds = dict.fromkeys(name for name in fields.values_of("kinds") if name in KINDS)
        subscription = await service.edit(me, session_id, kinds)
    data = _device_json(
        subscription, await service.public_key(), shows_text=await service.push_subscriptions.shows_text(me)
    )
    return done(request, data, default=DEVICE_URL, message=_("Your choices are saved."))


async def remove(request: SiteRequest) -> HttpResponseBase:
    await request.services[PushService].push_subscriptions.remove(require_viewer_id(request), _session_id(request))
    return done(request, {"device": None}, default=DEVICE_URL, message=_("This device receives no notifications now."))


def _session_id(request: SiteRequest) -> str:
    session_id: str | None = getattr(request.session, "session_id", None)
    if session_id is None:
        raise NotFound
    return session_id


def _device_json(subscription: PushSubscription | None, public_key: str, *, shows_text: bool) -> Json:
    device = {"endpoint": subscription.endpoint, "kinds": subscription.kinds} if subscription else None
    return {"device": device, "text": "full" if shows_text else "none", "public_key": public_key}
