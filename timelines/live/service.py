"""Live updates between processes: who has to hear of a post, a deletion, an ended session (docs/reference/live.md).

Nothing here is the only copy of anything: a reader's cursor finds again what a lost message was about. So
a word to all never fails the request that says it; a worker's passes do fail, because they are repeated.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from accounts.domain import AccountId
from socialsite.ids import PostId
from socialsite.recipes.pubsub_listener import (
    MillisecondClock,
    Presence,
    PubSubListener,
    fixed_channel,
    process_channel,
)
from socialsite.store import Key, Store, StoreError
from timelines.ids import ListId
from timelines.live.delivery_lag import DeliveryLag
from timelines.live.messages import (
    CountsChanged,
    EntryDelivered,
    EntryPublished,
    EntryPulled,
    ListsChanged,
    LiveMessage,
    Notified,
    PostDeleted,
    RelationChanged,
    SessionsEnded,
    decode_live,
    encode_live,
)
from timelines.posts.post import Post
from timelines.text.linkify import hashtags

log = logging.getLogger(__name__)

Places = Mapping[str, tuple[Sequence[AccountId], Sequence[ListId]]]
"""process -> the accounts and the lists that have readers there."""


class LiveService:
    """Publishes hints; who may see what they are about is asked by those who hear them."""

    def __init__(self, *, store: Store, clock: MillisecondClock, lag: DeliveryLag) -> None:
        self._store = store
        self._clock = clock
        self._presence = Presence(store, clock)
        self._lag = lag

    async def entry_published(self, post: Post) -> None:
        """For profile, public, tags and the author's own home; after all of them are written."""
        tags = tuple(hashtags(post.text)) if post.is_listed else ()
        await self._to_all(post.id, EntryPublished(post.id, post.author_id, post.is_listed, tags))

    async def entry_delivered(self, post: Post, followers: Sequence[AccountId | bytes]) -> None:
        """One pass's followers, by id or its digits; after their homes are written: nobody falls between.

        Raises StoreUnavailable: the pass is then to be repeated.
        """
        places = await self._presence.locate(followers)  # an account's member is its number
        online: Places = {name: ([AccountId(int(id)) for id in ids], []) for name, ids in places.items()}
        await self._to_those_online(post, online)

    async def entry_pulled(self, post: Post) -> None:
        """For the homes of all followers, whoever is online: each process asks for its own readers."""
        await self._to_all(post.id, EntryPulled(post.id, post.author_id))

    async def list_entry_delivered(self, post: Post, list_ids: Sequence[ListId]) -> None:
        """One pass's lists; after their timelines are written. Raises StoreUnavailable, as above."""
        by_member = {list_member(id): id for id in list_ids}
        places = await self._presence.locate(list(by_member))
        lists = {process: [by_member[name] for name in present] for process, present in places.items()}
        await self._to_those_online(post, {process: ([], present) for process, present in lists.items()})

    async def post_deleted(self, post_id: PostId) -> None:
        """After the tombstone stands."""
        await self._to_all(post_id, PostDeleted(post_id))

    async def boost_removed(self, boost: Post) -> None:
        """As `post_deleted`, after nobody is hidden behind it any more: the next boost takes over."""
        await self._to_all(boost.id, PostDeleted(boost.id, boost.boost_of, boost.author_id))

    async def counts_changed(self, post_id: PostId) -> None:
        """A reply, boost or like came or went."""
        await self._to_all(post_id, CountsChanged(post_id))

    async def notified(self, told: Mapping[AccountId, PostId]) -> None:
        """Somebody was told of something (account -> notification); after it is written. Only a hint."""
        try:
            places = await self._presence.locate(list(told))
            await self._presence.publish(
                {
                    process_channel(process): encode_live(
                        Notified(tuple((id, told[id]) for id in map(AccountId, present)))
                    )
                    for process, present in places.items()
                }
            )
        except StoreError as error:
            log.warning("notifications were not announced: %s", error)

    async def relation_changed(self, account_id: AccountId, other_id: AccountId) -> None:
        """After a block, a mute or the like stands, or is taken back."""
        await self._to_all(account_id, RelationChanged(account_id, other_id))

    async def lists_changed(self, owner_id: AccountId) -> None:
        """After a list of the owner has another rule, or is made of other lists."""
        await self._to_all(owner_id, ListsChanged(owner_id))

    async def session_ended(self, account_id: AccountId, session: str | None, *, but: str | None = None) -> None:
        """Close the sockets of one session (its hex id), or of all sessions of the account but one."""
        await self._to_all(account_id, SessionsEnded(account_id, session, but))

    async def account_closed(self, account_id: AccountId) -> None:
        """Suspended or deleted: every socket of the account closes."""
        await self._to_all(account_id, SessionsEnded(account_id))

    def listen(
        self,
        *,
        on_message: Callable[[LiveMessage], Awaitable[None]],
        on_lost: Callable[[], None],
        on_gap: Callable[[], Awaitable[None]],
    ) -> PubSubListener:
        """This process's ear, to be opened; messages of another release are passed over.

        `on_lost` and `on_gap` as in recipes.hub: hold what comes, then read again.
        """

        async def receive(payload: bytes) -> None:
            message = decode_live(payload)
            if message is not None:
                await on_message(message)

        return PubSubListener(self._store, self._clock, on_message=receive, on_lost=on_lost, on_resynced=on_gap)

    async def rewind_ms(self, now_ms: int) -> int:
        """How far before a reader's last id a replay begins: entries may be delivered that much later."""
        return await self._lag.worst_ms(now_ms)

    async def _to_those_online(self, post: Post, places: Places) -> None:
        """One message a process: its followers, its open lists."""
        words: dict[Key, bytes] = {}
        for process, (followers, lists) in places.items():
            message = EntryDelivered(post.id, post.author_id, tuple(followers), tuple(lists))
            words[process_channel(process)] = encode_live(message)
        await self._presence.publish(words)

    async def _to_all(self, number: int, message: LiveMessage) -> None:
        channel: Key = fixed_channel(number)
        try:
            await self._presence.publish({channel: encode_live(message)})
        except StoreError as error:
            log.warning("%s was not announced: %s", type(message).__name__, error)


def home_member(account_id: AccountId) -> str:
    """An account in a presence set."""
    return str(account_id)


def list_member(list_id: ListId) -> str:
    """A list in a presence set: its timeline is open in a socket of its owner."""
    return f"l{list_id}"
