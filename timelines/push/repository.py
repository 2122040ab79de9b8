"""Stores push subscriptions (`timelines:{<account>}:push`) and the key of the site."""

from collections.abc import Sequence

import msgspec

from socialsite.ids import AccountId
from socialsite.store import Read, Reply, Repository
from socialsite.store.replies import decode_or_none
from timelines import keys
from timelines.push.subscription import PushSubscription, VapidKey

SUBSCRIPTIONS_CAP = 20
_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(PushSubscription)


class PushSubscriptions(Repository):
    """The subscriptions of accounts, by the ids of their sessions and access tokens."""

    def read_ids(self, account_ids: Sequence[AccountId]) -> Read[dict[AccountId, list[str]]]:
        """Read the ids of the sessions with a subscription, for each account that has some."""

        def parse(replies: Sequence[Reply]) -> dict[AccountId, list[str]]:
            pairs = zip(account_ids, replies, strict=True)
            return {account_id: [field.decode() for field in fields] for account_id, fields in pairs if fields}

        return Read([("HKEYS", keys.push_subscriptions(id)) for id in account_ids], parse, self._timelines)

    async def find(self, account_id: AccountId, session_id: str) -> PushSubscription | None:
        value = await self._timelines.execute("HGET", keys.push_subscriptions(account_id), session_id)
        return decode_or_none(_decoder, value)

    async def find_all(self, account_id: AccountId) -> dict[str, PushSubscription]:
        reply = await self._timelines.execute("HGETALL", keys.push_subscriptions(account_id))  # about SUBSCRIPTIONS_CAP
        parsed = {
            id.decode(): decode_or_none(_decoder, value) for id, value in zip(reply[::2], reply[1::2], strict=True)
        }
        return {id: subscription for id, subscription in parsed.items() if subscription is not None}

    async def save(self, account_id: AccountId, session_id: str, subscription: PushSubscription) -> None:
        await self._timelines.write("HSET", keys.push_subscriptions(account_id), session_id, _encode(subscription))

    async def move(self, account_id: AccountId, former_id: str, session_id: str) -> None:
        """Give the subscription of a session to the session that replaces it."""
        if subscription := await self.find(account_id, former_id):
            await self.save(account_id, session_id, subscription)

    async def remove(self, account_id: AccountId, session_id: str | None) -> None:
        """Remove the subscription of a session, or with None all subscriptions of the account."""
        key = keys.push_subscriptions(account_id)
        await self._timelines.write(*(("HDEL", key, session_id) if session_id else ("DEL", key)))

    async def shows_text(self, account_id: AccountId) -> bool:
        """Return whether messages name the account and its action. Otherwise they say only that there is a
        notification."""
        return bool(await self._timelines.execute("HGET", keys.preferences(account_id), "push_text") == b"full")

    async def set_shows_text(self, account_id: AccountId, shows_text: bool) -> None:
        key = keys.preferences(account_id)
        await self._timelines.write("HSET", key, "push_text", "full" if shows_text else "none")

    async def load_vapid_key(self) -> str:
        """Return the stored private key of the site. The first call for a site makes it."""
        key = keys.vapid_key()
        stored = await self._timelines.execute("GET", key)
        if stored is None:
            await self._timelines.write("SET", key, VapidKey.generate(), "NX")
            stored = await self._timelines.execute("GET", key)
        return str(stored.decode())
