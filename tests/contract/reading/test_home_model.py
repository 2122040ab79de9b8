"""The home timeline against a model, and hydration in batches."""

import asyncio
import random
from collections.abc import Coroutine, Iterable
from typing import Any

import pytest

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.service_config import ServiceConfig
from socialsite.store import Command, Node, Reply, Store
from socialsite.store.address import Address
from tests.support.nodes import CountingNode, SingleNodeTopology
from tests.support.random_tests import mostly_nightly
from tests.support.visibility_scenario import home_viewer, visible_to
from tests.support.world import Person, World, ids_on
from timelines import keys
from timelines.errors import PostNotFound
from timelines.pages.page import TimelinePage
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext

SMALL = ServiceConfig(home_cap=8, posts_per_pass=3, time_slice_ms=0, read_ahead=1)  # causes many trims and floors

LARGE = ServiceConfig(
    home_cap=24, posts_per_pass=1, read_ahead=1
)  # heads are shorter than the list, which tests margins

SLOW_MS, FAST_MS = [0, 1, 40, 700, 1900], [0, 1, 20, 60, 120, 700]  # pauses between two steps

PEOPLE = 5

STEPS = 160

CALM_EVERY = 80


class GivingWay(Node):
    """A node that yields to other tasks a random number of times around each round trip."""

    def __init__(self, url: str, chance: random.Random) -> None:
        super().__init__(Address.parse(url))
        self._chance = chance

    async def _give_way(self) -> None:
        for _ in range(self._chance.randrange(4)):
            await asyncio.sleep(0)

    async def execute_all(self, commands: Iterable[Command]) -> list[Reply]:
        await self._give_way()
        replies = await super().execute_all(commands)
        await self._give_way()
        return replies

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        await self._give_way()
        if self._chance.random() < 0.2:  # a worker that is paused between the check and the push
            await asyncio.sleep(0.06 * self._chance.random())
        answers = await super().send_encoded(payload, replies, required_replicas=required_replicas)
        await self._give_way()
        return answers


class Run:
    """One random history."""

    def __init__(self, url: str, seed: int) -> None:
        self.chance = random.Random(seed)
        self.clock = FixedClock(1_900_000_000_000)
        self.store = Store(SingleNodeTopology(GivingWay(url, self.chance)))
        self.services: Services = Services(self.store, self.clock, LARGE if seed % 2 else SMALL)
        self.steps_ms = FAST_MS if seed % 2 else SLOW_MS
        self.world = World(self.services)
        self.people: list[Person] = []
        self.following: dict[AccountId, set[AccountId]] = {}
        self.posts: dict[PostId, AccountId] = {}
        self.gone: set[PostId] = set()
        self.tasks: set[asyncio.Task[Any]] = set()
        self.busy: set[tuple[AccountId, AccountId]] = set()

    async def play(self) -> None:
        self.people = await self.world.people(*(f"p{number}" for number in range(PEOPLE)))
        self.following = {person.id: set() for person in self.people}
        await self.services.outbox.create_group()
        for step in range(STEPS):
            self.clock.advance(self.chance.choice(self.steps_ms))
            self._start(self._anything())
            await asyncio.sleep(self.chance.choice([0, 0, 0.001]))
            if step % CALM_EVERY == CALM_EVERY - 1:
                await self._calm()
                await self._compare()
        await self.store.close()

    def _start(self, doing: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(doing)
        self.tasks.add(task)

    def _anything(self) -> Coroutine[Any, Any, Any]:
        person, other = self.chance.sample(self.people, 2)
        draw = self.chance.random()
        if draw < 0.40:
            return self._publish(person)
        if draw < 0.58:
            return self._work()
        if draw < 0.65:
            return self._follow(person, other)
        if draw < 0.69:
            return self._unfollow(person, other)
        if draw < 0.74:
            return self._delete()
        if draw < 0.76:
            return self._lose(person)
        return person.home(limit=3)

    async def _publish(self, person: Person) -> None:
        self.posts[(await person.publishes("hello")).id] = person.id

    async def _work(self) -> None:
        jobs = await self.services.outbox.fetch("abad1dea", 3, 1)
        self.chance.shuffle(jobs)
        for job in jobs:
            for _ in range(self.chance.choice([1, 1, 2])):  # at least once
                following = await self.services.fan_out.handle(job.payload)
            await self.services.outbox.finish(job, following)

    async def _follow(self, person: Person, other: Person) -> None:
        # One change per edge at a time: the model cannot know the order of two concurrent changes.
        if (person.id, other.id) in self.busy:
            return
        self.busy.add((person.id, other.id))
        await person.follows(other)
        self.following[person.id].add(other.id)
        self.busy.discard((person.id, other.id))

    async def _unfollow(self, person: Person, other: Person) -> None:
        if (person.id, other.id) in self.busy:
            return
        self.busy.add((person.id, other.id))
        await person.unfollows(other)
        self.following[person.id].discard(other.id)
        self.busy.discard((person.id, other.id))

    async def _delete(self) -> None:
        if not self.posts:
            return
        post_id = self.chance.choice(list(self.posts))
        try:
            await self.services.publishing.delete(account_id=self.posts[post_id], post_id=post_id)
        except PostNotFound:
            return  # another task deleted the post before
        self.gone.add(post_id)
        for person in self.people:
            assert post_id not in await person.home_ids(limit=5)

    async def _lose(self, person: Person) -> None:
        key = keys.home_timeline(person.id)
        await self.store.node(key).execute("DEL", key)

    async def _calm(self) -> None:
        while self.tasks:
            done, self.tasks = self.tasks, set()
            await asyncio.gather(*done)
        await self.world.deliver_all()

    async def _compare(self) -> None:
        for person in self.people:
            authors = self.following[person.id] | {person.id}
            expected = sorted(
                (p for p, author in self.posts.items() if author in authors and p not in self.gone), reverse=True
            )
            downward, upward = await self._downward(person), await self._upward(person)
            assert downward == expected, f"home of {person.handle}, downward"
            assert upward == expected, f"home of {person.handle}, upward"

    async def _downward(self, person: Person) -> list[PostId]:
        read: list[PostId] = []
        page: TimelinePage = await person.home(limit=3)
        read += ids_on(page)
        while page.next_before is not None:
            assert len(page.entries) == 3, "a page is full unless the timeline ends"
            page = await person.home(before=page.next_before, limit=3)
            read += ids_on(page)
        return read

    async def _upward(self, person: Person) -> list[PostId]:
        read: list[PostId] = []
        after: int | None = 0
        while after is not None:
            page = await person.home(after=after, limit=3)
            read = ids_on(page) + read
            after = page.previous_after
        return read


@pytest.mark.parametrize("seed", mostly_nightly(range(24), 4))
async def test_every_page_of_home_equals_the_merge_of_the_profiles(redis_url: str, seed: int) -> None:
    await Run(redis_url, seed).play()


async def test_each_reader_gets_current_rights(services: Services) -> None:
    alice, bob, carol = await World(services).people("alice", "bob", "carol")
    await alice.follows(bob)
    post = await bob.publishes("hello")
    seats = [home_viewer(services, person) for person in (alice, bob, carol)]
    assert await visible_to(services, post, seats) == [True, True, False]
    await alice.unfollows(bob)
    assert await visible_to(services, post, seats) == [False, True, False]
    assert await visible_to(services, post, []) == []


async def test_a_removed_member_disappears_from_its_list_immediately(services: Services) -> None:
    alice, bob = await World(services).people("alice", "bob")
    made = await alice.makes_list(bob, title="Friends")
    rule = await services.lists.rule(made)
    post, seat = (
        await bob.publishes("hello"),
        ViewerContext(alice.id, ViewContext.LIST, rule.read_member_authors, rule.reply_rights),
    )
    assert await visible_to(services, post, [seat]) == [True]
    await services.lists.remove_member(owner_id=alice.id, list_id=made.id, account_id=bob.id)
    assert await visible_to(services, post, [seat]) == [False]


async def test_members_of_an_exclusive_list_are_hidden_from_home(services: Services) -> None:
    alice, bob = await World(services).people("alice", "bob")
    await alice.follows(bob)
    made = await alice.makes_list(bob, title="Apart")
    post = await bob.publishes("hello")
    assert await visible_to(services, post, [home_viewer(services, alice)]) == [True]
    await services.lists.edit(owner_id=alice.id, list_id=made.id, exclusive=True)
    assert await visible_to(services, post, [home_viewer(services, alice)]) == [False]


async def test_a_deleted_post_is_shown_to_no_reader(services: Services) -> None:
    alice, bob = await World(services).people("alice", "bob")
    post = await bob.publishes("hello")
    await bob.deletes(post)
    seats = [home_viewer(services, alice), ViewerContext(None, ViewContext.PUBLIC)]
    assert await visible_to(services, post, seats) == [False, False]


async def test_each_reader_sees_their_own_reactions(services: Services) -> None:
    alice, bob, carol = await World(services).people("alice", "bob", "carol")
    post = await bob.publishes("hello")
    await services.reactions.like(account_id=carol.id, post_id=post.id, now_ms=services.clock.now_ms())
    seats = [ViewerContext(reader, ViewContext.PUBLIC) for reader in (alice.id, bob.id, carol.id, None)]
    posts_by_viewer = await services.pipeline.read_post_for_viewers(post.id, None, seats)
    viewers = [entry.viewer for entry in posts_by_viewer if entry is not None]
    assert [viewer and viewer.liked for viewer in viewers] == [False, False, True, None]
    assert [viewer and viewer.own for viewer in viewers] == [False, True, False, None]


@pytest.mark.parametrize("readers", [1, 40])
async def test_the_number_of_round_trips_does_not_grow_with_the_readers(redis_url: str, readers: int) -> None:
    node = CountingNode(redis_url)
    store = Store(SingleNodeTopology(node))
    try:
        services = Services(store, FixedClock(1_900_000_000_000), ServiceConfig())
        world = World(services)
        bob = await world.person("bob")
        people = [await world.person(f"p{number}") for number in range(readers)]
        for person in people:
            await person.follows(bob)
        post = await bob.publishes("hello")
        node.trips.clear()
        assert all(await visible_to(services, post, [home_viewer(services, person) for person in people]))
        # The post, its author and counts; each reader's state; the followers by partition.
        (commands,) = node.trips
        assert 3 + readers < commands <= 3 + readers + min(readers, ServiceConfig().follow_partitions)
    finally:
        await store.close()
