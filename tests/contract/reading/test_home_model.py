"""Home timelines equal a model under random interleavings (docs/reference/architecture.md).

Publish, deliver (repeatedly, out of order, late), follow, unfollow, delete, read, rebuild and loss of the cached
key run as tasks that yield before and after every round trip. Whenever all tasks are done, all pages read with
exclusive cursors, in both directions, must equal the merge of the followed authors' posts.
"""

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
from tests.support.models import mostly_nightly
from tests.support.nodes import SingleNodeTopology
from tests.support.world import Person, World, ids_on
from timelines import keys
from timelines.errors import PostNotFound
from timelines.pages.page import TimelinePage

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
        post = await person.publishes("hello")
        self.posts[post.id] = person.id

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
            return  # another task deleted it before
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
                (p for p, author in self.posts.items() if author in authors and p not in self.gone),
                reverse=True,
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
