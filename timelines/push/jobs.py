"""The jobs of the queue `push`: each sends one notification to one device.

What the reader may see is read when the message is sent. A job may be repeated: the header Topic lets the push service
replace an undelivered message by its repetition.
"""

from collections.abc import Callable

import msgspec
import structlog
from django.conf import settings
from django.utils.http import parse_http_date_safe
from django.utils.translation import gettext as _
from django.utils.translation import override

from accounts.accounts.repository import AccountRepository
from accounts.roles import has_right
from accounts.sessions.service import SessionService
from socialsite.encryption import unseal
from socialsite.ids import TimeSource, ms_from_id
from socialsite.outgoing.requests import OutgoingClient, OutgoingRefused, OutgoingResponse
from socialsite.recipes.job import RetryLater, make_job_decoder
from socialsite.service import Part
from timelines.graph.repository import Follows
from timelines.media.links import picture_link
from timelines.notifications.notification import VisibleNotification
from timelines.notifications.presenters import excerpt
from timelines.notifications.service import NotificationService
from timelines.pages.pictures import describe_post
from timelines.pages.presenters import post_url
from timelines.push.repository import PushSubscriptions
from timelines.push.service import PushNotification, PushService, PushText
from timelines.push.subscription import SEALED_FOR, TTL_S, PushSubscription, encrypt, topic_of

GONE = (404, 410)
MAX_DELAY_MS = 3_000_000
"""A push service can delay a message by at most so long; the worker would give up the job after an hour."""
PushJob = PushNotification | PushText
decode_job: Callable[[bytes], PushJob] = make_job_decoder(PushJob)
log = structlog.stdlib.get_logger("timelines.push")


class PushSending(Part):
    push_subscriptions: PushSubscriptions
    push: PushService
    notifications: NotificationService
    sessions: SessionService
    accounts: AccountRepository
    follows: Follows
    outgoing: OutgoingClient
    clock: TimeSource

    async def handle(self, payload: bytes) -> tuple[bytes, ...]:
        """Send one message. Raises PermanentFailure if the payload is not a job, RetryLater, and OutgoingFailed."""
        job = decode_job(payload)
        subscription = await self.push.find(job.account_id, job.session_id)
        created_ms = job.created_ms if isinstance(job, PushText) else ms_from_id(job.notification_id)
        if subscription is None or created_ms < self.clock.now_ms() - 1_000 * TTL_S:
            return ()
        if await self.sessions.are_sessions_active([(job.account_id, job.session_id)]) == [False]:
            await self.push_subscriptions.remove(job.account_id, job.session_id)
            return ()
        shows_text = await self.push_subscriptions.shows_text(job.account_id)
        if isinstance(job, PushText):
            if has_right(await self.accounts.find(job.account_id), "operations"):
                message = build_text_message(subscription, job, shows_text=shows_text)
                await self._send(job, subscription, message, f"{job.path}:{job.title}", is_urgent=True)
            return ()
        notification = await self.notifications.find(job.account_id, job.notification_id)
        if notification is None or notification.is_read or not await self._is_wanted(job, subscription, notification):
            return ()
        message = build_message(subscription, notification, shows_text=shows_text)
        subject = f"{notification.kind.name}:{notification.entry.shown.id if notification.entry else 0}"
        await self._send(job, subscription, message, subject, is_urgent=notification.kind.is_urgent)
        return ()

    async def _is_wanted(
        self, job: PushNotification, subscription: PushSubscription, notification: VisibleNotification
    ) -> bool:
        reader_id, actor_id = job.account_id, notification.author.id
        if notification.kind.name not in subscription.kinds or subscription.policy == "none":
            return False
        pairs = {"followed": (actor_id, reader_id), "follower": (reader_id, actor_id)}
        pair = pairs.get(subscription.policy)  # the followed account, and its follower
        return pair is None or bool(await self.follows.followers_among(pair[0], [pair[1]]))

    async def _send(
        self, job: PushJob, subscription: PushSubscription, plaintext: bytes, subject: str, *, is_urgent: bool
    ) -> None:
        contact = settings.SECURITY_CONTACT or settings.SITE_URL
        body, headers = encrypt(subscription, plaintext, await self.push.load_key(), contact)
        headers["Topic"] = topic_of(subscription, subject)
        headers["Urgency"] = "high" if is_urgent else "normal"
        try:
            response = await self.outgoing.post(subscription.endpoint, body, headers)
        except OutgoingRefused as error:
            log.warning("push_endpoint_refused", account=job.account_id, reason=str(error))
            response = None
        if response is None or response.status in GONE:
            # The device may have renewed its subscription meanwhile.
            if await self.push_subscriptions.find(job.account_id, job.session_id) == subscription:
                await self.push_subscriptions.remove(job.account_id, job.session_id)
        elif response.status == 429 or response.status >= 500:
            raise RetryLater(f"status {response.status}", delay_ms=self._delay_ms(response))
        elif response.status >= 300:
            log.warning("push_refused", account=job.account_id, status=response.status)

    def _delay_ms(self, response: OutgoingResponse) -> int:
        """Return the delay that the header Retry-After demands, in seconds or as a date, or 0."""
        text = response.headers.get("retry-after", "").strip()
        if text.isdecimal():
            return min(int(text[:9]) * 1_000, MAX_DELAY_MS)
        at_ms = 1_000 * (parse_http_date_safe(text) or 0)
        return max(0, min(at_ms - self.clock.now_ms(), MAX_DELAY_MS))


def build_text_message(subscription: PushSubscription, job: PushText, *, shows_text: bool) -> bytes:
    """Return the message of a text for the site's own service worker."""
    with override(subscription.locale):
        title, body = (job.title, job.body) if shows_text else (_("New notification"), "")
    return msgspec.json.encode({"notification_id": job.path, "title": title, "body": body, "icon": "", "url": job.path})


def build_message(subscription: PushSubscription, notification: VisibleNotification, *, shows_text: bool) -> bytes:
    """Return the message in the form of Mastodon, with the field `url` for the site's own service worker."""
    author, entry = notification.author, notification.entry.shown if notification.entry else None
    icon = picture_link(author.avatar, "small", needs_key=bool(subscription.sealed_token))
    with override(subscription.locale):
        title, body = _("New notification"), ""
        if shows_text:
            title = notification.kind.describe(author.display_name or author.handle)
            is_folded = entry is None or entry.keyword_filter is not None
            body = "" if is_folded or entry is None else excerpt(describe_post(entry.post))
    message = {
        "access_token": unseal(subscription.sealed_token, SEALED_FOR),
        "preferred_locale": subscription.locale,
        "notification_id": str(notification.id),
        "notification_type": notification.kind.api_type or notification.kind.name,
        "icon": settings.SITE_URL + icon if shows_text and icon else "",
        "title": title,
        "body": body,
        "url": post_url(entry.post.id, entry.author) if entry and shows_text else "/notifications/",
    }
    return msgspec.json.encode(message)
