"""The replacement of a removed boost is sent to its readers, with few reads for all others."""

import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.ids import PostId
from socialsite.service_config import ServiceConfig
from socialsite.store import Command, Reply, Store, StoreUnavailable
from socialsite.web.socket_writer import TextFrame
from tests.support.nodes import CountingNode, SingleNodeTopology
from tests.support.reactions import PersonReactions
from tests.support.world import Person, World
from timelines.live import batched_work
from timelines.live.broadcaster import Broadcaster
from timelines.live.channels import PUBLIC_TOPIC, Channel, home_topic, list_topic
from timelines.live.replacement_boosts import ReplacementBoosts
from timelines.live.socket_registry import LiveSocket, SocketRegistry, Subscription
from timelines.pages.page import TimelinePage
from timelines.posts.post import Post
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext


@dataclass
class Seen:
    """A socket writer that records its frames."""

    frames: list[dict[str, Any]] = field(default_factory=list)
    is_closed = False

    def send(self, frame: TextFrame) -> None:
        self.frames.append(json.loads(frame.text))

    def close(self, code: int) -> None: ...
    async def wait_until_drained(self) -> None: ...
    def detach(self) -> None: ...

    def ids(self) -> list[PostId]:
        return [PostId(int(frame["id"])) for frame in self.frames]


async def nothing(**cut: int) -> TimelinePage:
    return TimelinePage((), None, None)


@dataclass
class ReplacementBoostScenario:
    """Bob, Carol and Erin boost a post, in this order; no account follows them yet."""

    services: Services
    world: World
    acts: PersonReactions
    boosters: list[Person]
    post: Post
    boosts: list[PostId]
    room: SocketRegistry = field(default_factory=SocketRegistry)

    def __post_init__(self) -> None:
        pipeline = self.services.pipeline
        self.surfacing = ReplacementBoosts(self.room, pipeline, Broadcaster(self.room, pipeline))

    async def reader(self, handle: str, *followed: Person) -> Person:
        person = await self.world.person(handle)
        for each in followed:
            await person.follows(each)
        return person

    def opens(self, reader: Person | None, topic: str, seat: ViewerContext) -> tuple[Seen, Subscription]:
        seen = Seen()
        socket = LiveSocket(seen, reader and reader.id, None, "en")
        subscription = socket.subscriptions[topic] = Subscription(socket, topic)
        self.room.add(socket)
        self.room.add_subscription(subscription, Channel(topic, None, nothing, seat))
        subscription.resume(lambda post_id: False)
        return seen, subscription

    def opens_home(self, reader: Person) -> Seen:
        rights = self.services.reading.home_rights(reader.id)
        return self.opens(reader, home_topic(reader.id), ViewerContext(reader.id, ViewContext.HOME, rights))[0]

    async def withdraws(self, number: int) -> None:
        await self.acts.unboosts(self.boosters[number], self.post)


@pytest.fixture
async def town(services: Services) -> ReplacementBoostScenario:
    return await town_of(services)


async def town_of(services: Services) -> ReplacementBoostScenario:
    world, acts = World(services), PersonReactions(services)
    alice, *boosters = await world.people("alice", "bob", "carol", "erin")
    post = await alice.publishes("hello")
    for booster in boosters:
        await acts.boosts(booster, post)
    boosts = [await acts.boost_of(booster, post) for booster in boosters]
    return ReplacementBoostScenario(services, world, acts, boosters, post, [id for id in boosts if id is not None])


async def test_readers_of_a_removed_boost_receive_their_first_visible_boost(town: ReplacementBoostScenario) -> None:
    bob, carol, erin = town.boosters
    one = town.opens_home(await town.reader("one", bob, carol, erin))
    two = town.opens_home(await town.reader("two", bob, erin))
    alone = town.opens_home(await town.reader("alone", bob))
    had_it = town.opens_home(await town.reader("had_it", carol, erin))
    own = town.opens_home(bob)
    public, _ = town.opens(None, PUBLIC_TOPIC, ViewerContext(None, ViewContext.PUBLIC))
    await town.withdraws(0)
    town.surfacing.check(town.boosts[0], town.post.id, author_id=bob.id)
    await town.surfacing.send_pending()
    sent_ids = [seen.ids() for seen in (one, two, alone, had_it, own, public)]
    assert sent_ids == [[town.boosts[1]], [town.boosts[2]], [], [], [], []]


async def test_readers_of_a_deleted_account_receive_replacements_after_its_purge(
    town: ReplacementBoostScenario,
) -> None:
    """The purge deletes the follows and list memberships, by which the readers of the boost are known."""
    bob, carol, erin = town.boosters
    reader = await town.reader("reader", bob, carol, erin)
    made = await reader.makes_list(bob, erin)
    rule = await town.services.lists.rule(made)
    context = ViewerContext(reader.id, ViewContext.LIST, rule.read_member_authors, rule.reply_rights)
    home, (list_timeline, _) = town.opens_home(reader), town.opens(reader, list_topic(made.id), context)
    alone = town.opens_home(await town.reader("alone", bob))
    await town.services.accounts.delete(account_id=bob.id)
    await town.world.deliver_all()
    town.surfacing.check(town.boosts[0], town.post.id, author_id=bob.id)
    await town.surfacing.send_pending()
    assert [seen.ids() for seen in (home, list_timeline, alone)] == [[town.boosts[1]], [town.boosts[2]], []]


async def test_a_list_receives_replacements_by_its_members(town: ReplacementBoostScenario) -> None:
    bob, carol, _ = town.boosters
    owner = await town.reader("owner")
    made = await owner.makes_list(bob, carol)
    rule = await town.services.lists.rule(made)
    seen, _ = town.opens(
        owner,
        list_topic(made.id),
        ViewerContext(owner.id, ViewContext.LIST, rule.read_member_authors, rule.reply_rights),
    )
    await town.withdraws(0)
    town.surfacing.check(town.boosts[0], town.post.id, author_id=bob.id)
    await town.surfacing.send_pending()
    assert seen.ids() == [town.boosts[1]]


async def test_a_timeline_that_showed_the_boost_receives_the_replacement_after_an_unfollow(
    town: ReplacementBoostScenario,
) -> None:
    """A reconnected page names the boost that it shows; other kinds of timelines receive no replacement."""
    reader = await town.reader("reader", town.boosters[1])
    rights = town.services.reading.home_rights(reader.id)
    seen, home = town.opens(reader, home_topic(reader.id), ViewerContext(reader.id, ViewContext.HOME, rights))
    public_frames, public = town.opens(reader, PUBLIC_TOPIC, ViewerContext(reader.id, ViewContext.PUBLIC))
    await town.withdraws(0)
    town.surfacing.check(town.boosts[0], town.post.id, subscriptions=[home, public])
    await town.surfacing.send_pending()
    assert (seen.ids(), public_frames.ids()) == ([town.boosts[1]], [])


async def test_a_boost_deleted_meanwhile_is_not_sent(town: ReplacementBoostScenario) -> None:
    seen = town.opens_home(await town.reader("one", *town.boosters))
    await town.withdraws(0)
    town.room.mark_deleted(town.boosts[1])  # the message arrived before the tombstone was read
    town.surfacing.check(town.boosts[0], town.post.id, author_id=town.boosters[0].id)
    await town.surfacing.send_pending()
    assert seen.ids() == []


class Unsteady(CountingNode):
    """A node that is unavailable for the next `away` round trips."""

    away = 0

    async def execute_all(self, commands: Iterable[Command]) -> list[Reply]:
        if self.away:
            self.away -= 1
            raise StoreUnavailable("away")
        return await super().execute_all(commands)


@pytest.fixture
async def unsteady(redis_url: str) -> AsyncIterator[tuple[ReplacementBoostScenario, Unsteady]]:
    node = Unsteady(redis_url)
    store = Store(SingleNodeTopology(node))
    yield await town_of(Services(store, FixedClock(1_900_000_000_000), ServiceConfig())), node
    await store.close()


async def test_all_boosts_of_a_deleted_account_are_checked_in_one_round_trip(
    unsteady: tuple[ReplacementBoostScenario, Unsteady],
) -> None:
    """No later boost exists, so no rights are read; without open timelines no command is sent."""
    town, node = unsteady
    reader, last = await town.reader("one", *town.boosters), town.boosts[-1]

    async def trips() -> list[int]:
        node.trips.clear()
        for number in range(50):
            town.surfacing.check(PostId(last + number), town.post.id, author_id=town.boosters[0].id)
        await town.surfacing.send_pending()
        return node.trips

    assert await trips() == []
    town.opens_home(reader)
    assert await trips() == [50]


async def test_a_failed_read_is_repeated(
    unsteady: tuple[ReplacementBoostScenario, Unsteady], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batched_work, "RETRY_S", 0.01)
    town, node = unsteady
    seen = town.opens_home(await town.reader("one", *town.boosters))
    await town.withdraws(0)
    town.surfacing.check(town.boosts[0], town.post.id, author_id=town.boosters[0].id)
    node.away = 3
    await town.surfacing.send_pending()
    assert node.away == 0
    assert seen.ids() == [town.boosts[1]]
