"""Receivers of live messages: LiveService on a real server, with listening web processes."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from accounts.domain import Author
from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from timelines.ids import ListId
from timelines.live_updates.process_messages import (
    CountsChanged,
    EntryDelivered,
    EntryPublished,
    LiveMessage,
    PostDeleted,
    RelationChanged,
    SessionsEnded,
    decode_live,
    encode_live,
)
from timelines.live_updates.service import home_member, list_member
from timelines.posts.post import Post
from timelines.reactions.boosts import boost_post


class Ear:
    """A web process without sockets."""

    def __init__(self, services: Services) -> None:
        self.heard: list[LiveMessage] = []
        self.hub = services.live.listen(on_message=self._hear, on_lost=lambda: None, on_gap=self._nothing)
        self._came = asyncio.Event()

    async def waits_for(self, *messages: LiveMessage) -> None:
        """Wait for exactly these messages, in this order."""
        async with asyncio.timeout(12):
            while len(self.heard) < len(messages):
                self._came.clear()
                await self._came.wait()
        assert self.heard == list(messages)

    async def _hear(self, message: LiveMessage) -> None:
        self.heard.append(message)
        self._came.set()

    async def _nothing(self) -> None: ...


@pytest.fixture
async def ears(services: Services) -> AsyncIterator[tuple[Ear, Ear]]:
    two = Ear(services), Ear(services)
    for ear in two:
        await ear.hub.open()
    yield two
    for ear in two:
        await ear.hub.close()


@pytest.fixture
def post(services: Services) -> Post:
    return Post(services.ids.next_id(), AccountId(1), "hello")


@pytest.fixture
def author() -> Author:
    return Author(AccountId(1), "bob", "Bob", "active", 1)


async def test_a_published_entry_is_sent_to_every_process(services, ears, post, author) -> None:
    await services.live.entry_published(post)
    for ear in ears:
        await ear.waits_for(EntryPublished(post.id, author.id, public=True))


async def test_a_delivered_entry_is_sent_only_to_processes_with_followers_online(services, ears, post, author) -> None:
    one, other = ears
    await one.hub.add_member(home_member(AccountId(7)))
    await other.hub.add_member(home_member(AccountId(8)))
    await other.hub.add_member(home_member(AccountId(9)))
    await services.live.entry_delivered(post, [AccountId(7), AccountId(5), AccountId(6)])
    await services.live.post_deleted(post.id)
    await one.waits_for(EntryDelivered(post.id, author.id, (AccountId(7),)), PostDeleted(post.id))
    await other.waits_for(PostDeleted(post.id))


async def test_a_list_entry_is_sent_to_processes_with_the_list_open(services, ears, post, author) -> None:
    one, other = ears
    await one.hub.add_member(home_member(AccountId(3)))  # account 3 is not list 3
    await other.hub.add_member(list_member(ListId(3)))
    await services.live.list_entry_delivered(post, [ListId(3), ListId(4)])
    await services.live.counts_changed(post.id)
    await other.waits_for(EntryDelivered(post.id, author.id, (), (ListId(3),)), CountsChanged(post.id))
    await one.waits_for(CountsChanged(post.id))


async def test_an_entry_without_online_readers_causes_no_message(services, ears, post, author) -> None:
    await services.live.entry_delivered(post, [AccountId(7)])
    await services.live.entry_delivered(post, [])
    await services.live.session_ended(AccountId(7), "ab")
    await services.live.account_closed(AccountId(7))
    for ear in ears:
        await ear.waits_for(SessionsEnded(AccountId(7), "ab"), SessionsEnded(AccountId(7)))


async def test_the_message_of_a_removed_boost_names_the_boosted_post(services, ears, post, author) -> None:
    boost = boost_post(PostId(post.id + 1), AccountId(7), post)
    await services.live.boost_removed(boost)
    for ear in ears:
        await ear.waits_for(PostDeleted(boost.id, post.id, AccountId(7)))
    assert decode_live(encode_live(["deleted1", boost.id])) == PostDeleted(boost.id)  # the format of an older release


@pytest.mark.parametrize("payload", [b"", b"\xc1", encode_live(["entry9", 1]), encode_live({"kind": "new"})])
def test_messages_of_another_release_are_ignored(payload) -> None:
    assert decode_live(payload) is None


def test_messages_are_decoded_as_they_were_encoded(post, author) -> None:
    messages: list[LiveMessage] = [
        EntryPublished(post.id, author.id, public=False),
        EntryDelivered(post.id, author.id, (AccountId(2),), (ListId(3),)),
        PostDeleted(post.id),
        PostDeleted(post.id, PostId(1), author.id),
        CountsChanged(post.id),
        SessionsEnded(author.id, None, but="ab"),
        RelationChanged(author.id, AccountId(2)),
    ]
    assert [decode_live(encode_live(message)) for message in messages] == messages
