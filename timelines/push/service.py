"""Subscribes devices to push messages, and queues a job for each notification and device."""

from collections.abc import Collection, Mapping
from dataclasses import field
from itertools import compress

import msgspec
import structlog
from django.utils.translation import gettext_lazy as _
from msgspec import structs

from accounts.sessions.service import SessionService
from socialsite.errors import Invalid, NotFound
from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.limits import ActionLimits
from socialsite.outgoing.requests import OutgoingClient, OutgoingRefused
from socialsite.recipes.job_queue import JobQueue, RetryPolicy
from socialsite.service import Service
from socialsite.store import Read, StoreError
from timelines.push.repository import SUBSCRIPTIONS_CAP, PushSubscriptions
from timelines.push.subscription import PushPolicy, PushSubscription, VapidKey

RETRY_POLICY = RetryPolicy(retry_delays_ms=(2_000, 30_000, 300_000, 1_800_000), stuck_after_ms=3_600_000)
log = structlog.stdlib.get_logger("timelines.push")


class PushNotification(msgspec.Struct, frozen=True, tag="push"):
    """Send a notification to the device of a session or an access token."""

    account_id: AccountId
    notification_id: PostId
    session_id: str


class PushText(msgspec.Struct, frozen=True, tag="text"):
    """Send a text to the device of a session of staff, in the language of the device. A click on it opens `path`."""

    account_id: AccountId
    session_id: str
    created_ms: int
    title: str
    body: str
    path: str


encode_job = msgspec.msgpack.Encoder().encode


class PushService(Service):
    """Subscribes devices, and queues the messages of new notifications.

    A subscription ends with its session or access token. Nothing is queued if the site or the reader has no push
    messages.
    """

    push_subscriptions: PushSubscriptions
    push_queue: JobQueue
    sessions: SessionService
    outgoing: OutgoingClient
    limits: ActionLimits
    clock: TimeSource
    push_enabled: bool
    vapid_private_key: str
    _key: VapidKey | None = field(default=None, init=False)

    async def load_key(self) -> VapidKey:
        if self._key is None:
            self._key = VapidKey(self.vapid_private_key or await self.push_subscriptions.load_vapid_key())
        return self._key

    async def public_key(self) -> str:
        """Return the public key in base64, or "" if the site sends no push messages."""
        return (await self.load_key()).public_key if self.push_enabled else ""

    async def find(self, account_id: AccountId, session_id: str) -> PushSubscription | None:
        return await self.push_subscriptions.find(account_id, session_id) if self.push_enabled else None

    def parse_subscription(self, *, endpoint: str, p256dh: str, auth: str) -> PushSubscription:
        """Return a new subscription, which `save` stores. Raises Invalid, and NotFound if the site has no push."""
        if not self.push_enabled:
            raise NotFound
        try:
            is_encrypted = self.outgoing.check(endpoint).scheme == b"https"
        except OutgoingRefused:
            is_encrypted = False
        if not is_encrypted:
            raise Invalid({"endpoint": _("This is not the address of a push service.")})
        return PushSubscription.parse(endpoint=endpoint, p256dh=p256dh, auth=auth, created_ms=self.clock.now_ms())

    async def save(self, account_id: AccountId, session_id: str, subscription: PushSubscription) -> None:
        """Store the subscription of a session. Another subscription of the same device, and ended ones, are removed."""
        others = await self.push_subscriptions.find_all(account_id)
        others.pop(session_id, None)
        ids = sorted(others, key=lambda id: others[id].created_ms, reverse=True)
        active = await self.sessions.are_sessions_active([(account_id, id) for id in ids])
        remaining = [id for id in compress(ids, active) if others[id].endpoint != subscription.endpoint]
        for id in set(ids) - set(remaining[: SUBSCRIPTIONS_CAP - 1]):
            await self.push_subscriptions.remove(account_id, id)
        await self.limits.enforce_bytes("devices", account_id, len(encode_job(subscription)))
        await self.push_subscriptions.save(account_id, session_id, subscription)

    async def renew(
        self, account_id: AccountId, session_id: str, former_endpoint: str, subscription: PushSubscription
    ) -> PushSubscription:
        """Replace the endpoint and the keys of a session; its kinds, policy and language stay. May be repeated.

        `former_endpoint` may be "", because not every browser knows it. Raises NotFound if the session has another one.
        """
        stored = await self.find(account_id, session_id)
        if stored is None or stored.endpoint not in (former_endpoint or stored.endpoint, subscription.endpoint):
            raise NotFound
        renewed = structs.replace(subscription, kinds=stored.kinds, policy=stored.policy, locale=stored.locale)
        await self.save(account_id, session_id, renewed)
        return renewed

    async def edit(
        self, account_id: AccountId, session_id: str, kinds: Collection[str], policy: PushPolicy | None = None
    ) -> PushSubscription:
        """Change the kinds and the policy. Raises NotFound if the session has no subscription."""
        subscription = await self.find(account_id, session_id)
        if subscription is None:
            raise NotFound
        edited = structs.replace(subscription, kinds=tuple(kinds), policy=policy or subscription.policy)
        await self.push_subscriptions.save(account_id, session_id, edited)
        return edited

    # The messages of notifications (PushEvents)

    def read_devices(self, reader_ids: Collection[AccountId]) -> Read[dict[AccountId, list[str]]]:
        """Read the ids of the sessions and access tokens with a subscription, by reader."""
        return self.push_subscriptions.read_ids(list(reader_ids) if self.push_enabled else [])

    async def notified(
        self, notifications: Mapping[AccountId, PostId], devices: Mapping[AccountId, Collection[str]]
    ) -> None:
        """Queue the messages. An error of the store is logged: the notification itself is stored."""
        try:
            for reader_id, notification_id in notifications.items():
                for session_id in devices.get(reader_id, ()):
                    job = PushNotification(reader_id, notification_id, session_id)
                    await self.push_queue.add(encode_job(job), sender=reader_id)
        except StoreError as error:
            log.warning("push_not_queued", reason=type(error).__name__)
