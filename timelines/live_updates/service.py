"""Publishes live updates to the processes that have readers for them (docs/reference/live.md).

A lost message loses no data, because the reader's next replay reads the same entries. So a request never fails if its
message to all processes cannot be published. A fan-out pass does fail in this case, because it can be repeated.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.recipes.presence import Presence, fixed_channel, process_channel
from socialsite.recipes.pubsub_listener import PubSubListener
from socialsite.service import Service
from socialsite.store import Key, Store, StoreError
from timelines.ids import ListId
from timelines.live_updates import process_messages
from timelines.live_updates.delivery_lag import DeliveryLag
from timelines.posts.post import Post

log = logging.getLogger(__name__)

OnlineReaders = Mapping[str, tuple[Sequence[AccountId], Sequence[ListId]]]
"""The accounts and the lists with open timelines, by process."""


class LiveService(Service):
    """Publishes messages without content. The receiving process checks what its readers may see."""

    def __init__(self, *, store: Store, clock: TimeSource, lag: DeliveryLag) -> None:
        self._store = store
        self._clock = clock
        self._presence = Presence(store, clock)
        self._lag = lag

    async def entry_published(self, post: Post) -> None:
        """Announce a post after it is on the profile, public and hashtag timelines and its author's home."""
        tags = tuple(post.indexed_hashtags)
        await self._publish_to_all(
            post.id, process_messages.EntryPublished(post.id, post.author_id, post.is_discoverable, tags)
        )

    async def entry_delivered(self, post: Post, followers: Sequence[AccountId | bytes]) -> None:
        """Announce a post to the followers of one pass, after it is in their homes.

        `followers` are ids or their decimal digits. Raises StoreUnavailable; the pass is then repeated.
        """
        members = await self._presence.locate(followers)  # the members are account ids
        online: OnlineReaders = {process: ([AccountId(int(id)) for id in ids], []) for process, ids in members.items()}
        await self._publish_delivered(post, online)

    async def entry_pulled(self, post: Post) -> None:
        """Announce a post that followers read by fan-out on read. Each process finds its own readers."""
        await self._publish_to_all(post.id, process_messages.EntryPulled(post.id, post.author_id))

    async def list_entry_delivered(self, post: Post, list_ids: Sequence[ListId]) -> None:
        """Announce a post to the lists of one pass, after it is in their timelines. Raises StoreUnavailable."""
        ids_by_member = {list_member(id): id for id in list_ids}
        members = await self._presence.locate(list(ids_by_member))
        online: OnlineReaders = {
            process: ([], [ids_by_member[name] for name in names]) for process, names in members.items()
        }
        await self._publish_delivered(post, online)

    async def post_deleted(self, post_id: PostId) -> None:
        """Announce a deletion, after the tombstone is written."""
        await self._publish_to_all(post_id, process_messages.PostDeleted(post_id))

    async def post_edited(self, post_id: PostId) -> None:
        """Announce a new version of a post, or its preview, after it is written."""
        await self._publish_to_all(post_id, process_messages.PostEdited(post_id))

    async def boost_removed(self, boost: Post) -> None:
        """Announce the deletion of a boost, after the boost no longer hides later boosts."""
        await self._publish_to_all(boost.id, process_messages.PostDeleted(boost.id, boost.boost_of, boost.author_id))

    async def counts_changed(self, post_id: PostId) -> None:
        """Announce that the number of replies, boosts or likes changed."""
        await self._publish_to_all(post_id, process_messages.CountsChanged(post_id))

    async def notified(self, told: Mapping[AccountId, PostId]) -> None:
        """Announce new notifications (account id -> notification id) after they are written. Errors are only logged."""
        try:
            members = await self._presence.locate(list(told))
            payloads: dict[Key, bytes] = {}
            for process, ids in members.items():
                message = process_messages.Notified(tuple((id, told[id]) for id in map(AccountId, ids)))
                payloads[process_channel(process)] = process_messages.encode_live(message)
            await self._presence.publish(payloads)
        except StoreError as error:
            log.warning("notifications were not announced: %s", error)

    async def relation_changed(self, account_id: AccountId, other_id: AccountId) -> None:
        """Announce that a relation, such as a block or a mute, was written or removed."""
        await self._publish_to_all(account_id, process_messages.RelationChanged(account_id, other_id))

    async def lists_changed(self, owner_id: AccountId) -> None:
        """Announce that the rules or sources of the owner's lists changed."""
        await self._publish_to_all(owner_id, process_messages.ListsChanged(owner_id))

    async def filters_changed(self, account_id: AccountId) -> None:
        """Announce that the keyword filters of the account changed."""
        await self._publish_to_all(account_id, process_messages.FiltersChanged(account_id))

    async def session_ended(self, account_id: AccountId, session: str | None, *, but: str | None = None) -> None:
        """Close the sockets of one session (its hex id), or of all sessions of the account except `but`."""
        await self._publish_to_all(account_id, process_messages.SessionsEnded(account_id, session, but))

    async def account_closed(self, account_id: AccountId) -> None:
        """Close every socket of a suspended or deleted account."""
        await self._publish_to_all(account_id, process_messages.SessionsEnded(account_id))

    def listen(
        self,
        *,
        on_message: Callable[[process_messages.LiveMessage], Awaitable[None]],
        on_lost: Callable[[], None],
        on_gap: Callable[[], Awaitable[None]],
    ) -> PubSubListener:
        """Return the listener of this process, which is not opened yet. It ignores messages that it cannot decode.

        `on_lost` is called when messages may be lost, and `on_gap` when the listener works again (`on_resynced`).
        """

        async def receive(payload: bytes) -> None:
            message = process_messages.decode_live(payload)
            if message is not None:
                await on_message(message)

        return PubSubListener(self._store, self._clock, on_message=receive, on_lost=on_lost, on_resynced=on_gap)

    async def rewind_ms(self, now_ms: int) -> int:
        """Return how many ms before a reader's last id a replay begins, because entries may be delivered that late."""
        return await self._lag.worst_ms(now_ms)

    async def _publish_delivered(self, post: Post, online: OnlineReaders) -> None:
        """Publish one message to each process, with the online followers and open lists in that process."""
        payloads: dict[Key, bytes] = {}
        for process, (followers, lists) in online.items():
            message = process_messages.EntryDelivered(post.id, post.author_id, tuple(followers), tuple(lists))
            payloads[process_channel(process)] = process_messages.encode_live(message)
        await self._presence.publish(payloads)

    async def _publish_to_all(self, number: int, message: process_messages.LiveMessage) -> None:
        channel: Key = fixed_channel(number)
        try:
            await self._presence.publish({channel: process_messages.encode_live(message)})
        except StoreError as error:
            log.warning("%s was not announced: %s", type(message).__name__, error)


def home_member(account_id: AccountId) -> str:
    return str(account_id)


def list_member(list_id: ListId) -> str:
    """Return the presence member of a list. It is online while the list's owner has its timeline open."""
    return f"l{list_id}"
