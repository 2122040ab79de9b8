"""A site with random activity, and open pages that apply its socket messages."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.recipes.presence import members_key, processes_key
from tests.support.reactions import PersonReactions
from tests.support.sockets import Message, SocketClient
from tests.support.world import Person, World
from timelines.lists.account_list import AccountList
from timelines.pages.page import TimelinePage
from timelines.posts.post import PUBLIC, UNLISTED, Post

MAX_STEP_INTERVAL_MS = 8_000

"""Longest interval between two actions: less than a replay's minute."""


@dataclass
class RandomActivitySite:
    """Alice reads; Bob, Carol, Dave and Erin write. She follows Bob and Carol; the list `kept` has Carol and Dave."""

    services: Services
    clock: FixedClock
    world: World
    alice: Person
    authors: list[Person]
    kept: AccountList
    chance: random.Random
    written: list[tuple[Person, Post]] = field(default_factory=list)
    boosted: list[tuple[Person, Post]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._acts = PersonReactions(self.services)

    @classmethod
    async def build(cls, services: Services, clock: FixedClock, chance: random.Random) -> Self:
        world = World(services)
        alice, bob, carol, dave, erin = await world.people("alice", "bob", "carol", "dave", "erin")
        await alice.follows(bob)
        await alice.follows(carol)
        kept_list = await alice.makes_list(carol, dave, title="Kept")
        return cls(services, clock, world, alice, [bob, carol, dave, erin], kept_list, chance)

    async def act_randomly(self) -> None:
        author, roll = self.chance.choice(self.authors), self.chance.random()
        self.clock.advance(self.chance.randrange(MAX_STEP_INTERVAL_MS))
        if roll < 0.45 or not self.written:
            text = self.chance.choice(["words", "words #tea"])
            audience = self.chance.choice([PUBLIC, PUBLIC, UNLISTED])
            self.written.append((author, await author.publishes(text, audience=audience)))
        elif roll < 0.55:
            writer, post = self._one_of_the_last(self.written)
            self.boosted = [(by, of) for by, of in self.boosted if of != post]
            await writer.deletes(post)
        elif roll < 0.7 or not self.boosted:
            _, post = self.chance.choice(self.written[-10:])
            for booster in self.chance.sample(self.authors, self.chance.randint(1, 4)):
                await self.boosts(booster, post)
        else:
            booster, post = self._one_of_the_last(self.boosted)
            await self._acts.unboosts(booster, post)
        if self.chance.random() < 0.7:  # otherwise a later turn delivers the posts late
            await self.world.deliver_all()

    async def boosts(self, booster: Person, post: Post) -> None:
        self.clock.advance(1)
        await self._acts.boosts(booster, post)
        if (booster, post) not in self.boosted:
            self.boosted.append((booster, post))

    async def boost_by_all(self) -> Post:
        """Publish a stranger's post that Bob, Carol and Dave boost: home shows Bob's boost, the list Carol's."""
        *boosters, stranger = self.authors
        post = await stranger.publishes("of a stranger")
        for booster in boosters:
            await self.boosts(booster, post)
        return post

    async def remove_boost(self, number: int, post: Post) -> None:
        """Remove the boost of Bob (0) or Carol (1): the next boost replaces it, at home or on the list."""
        await self._acts.unboosts(self.authors[number], post)

    async def deliver_and_advance_clock(self) -> None:
        """Deliver everything, then advance the clock beyond a replay's range."""
        await self.world.deliver_all()
        self.clock.advance(5 * 60_000)
        for author in self.authors:
            self.written.append((author, await author.publishes("later #tea")))
        await self.world.deliver_all()

    def _one_of_the_last(self, acts: list[tuple[Person, Post]]) -> tuple[Person, Post]:
        """Remove and return one of the last acts, which are on the newest pages."""
        return acts.pop(self.chance.randrange(max(0, len(acts) - 20), len(acts)))

    async def break_live_connection(self) -> None:
        """Break the web process's pub/sub connection or delete its presence: messages meanwhile are lost."""
        node = self.services.store.node(processes_key())
        if self.chance.random() < 0.5:
            await node.execute("CLIENT", "KILL", "TYPE", "pubsub")
            return
        for process in await node.execute("ZRANGE", processes_key(), 0, -1):
            key = members_key(process.decode())
            await self.services.store.node(key).execute("DEL", key)

    async def run_until(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self.act_randomly()
            await asyncio.sleep(self.chance.uniform(0, 0.03))


PAGE_LIMIT = 100

BOOST_PATTERN = re.compile(r'data-boost-of="(\d+)"')

SERVER_MESSAGE_TYPES = ("entry", "deleted", "gap", "subscribed", "counts")

Read = Callable[..., Awaitable[TimelinePage]]


@dataclass
class LivePage:
    """One open timeline: `shown` maps each entry to the post that it shows."""

    name: str
    fresh: Read
    shown: dict[int, int] = field(default_factory=dict)
    last: int = 0

    async def apply(self, message: Message) -> None:
        if message["type"] == "deleted":
            gone = int(message["id"])
            self.shown = {id: of for id, of in self.shown.items() if gone not in (id, of)}
        elif message.get("timeline") == self.name:
            if message["type"] == "entry":
                original = BOOST_PATTERN.search(message["html"])
                id = int(message["id"])
                self.shown[id] = int(original[1]) if original else id
                self.last = max(self.last, id)
            elif message["type"] == "gap":
                self.last = max(self.last, int(message["newest"]))
                self.shown |= await self.read()

    async def read(self) -> dict[int, int]:
        """Read the page's current content."""
        page = await self.fresh(limit=PAGE_LIMIT)
        return {int(entry.post.id): int(entry.shown.post.id) for entry in page.entries}

    async def is_fresh(self) -> bool:
        return collapse_boosts(self.shown) == collapse_boosts(await self.read())

    def watched(self) -> set[int]:
        """Return the ids that the page watches: its entries and the posts they show."""
        return {id for pair in self.shown.items() for id in pair}


def collapse_boosts(shown: dict[int, int]) -> list[int]:
    """Return the newest entries. Both pages are limited, so only half a page is compared."""
    return sorted(shown, reverse=True)[: PAGE_LIMIT // 2]


@dataclass
class LiveScreen:
    """All open pages of a reader, independent of the socket's reconnects."""

    pages: list[LivePage]

    async def opens(self, reader: SocketClient) -> None:
        """Subscribe from the last id and then watch the shown posts, as the site's script does."""
        for page in self.pages:
            await reader.subscribe(page.name, after=page.last)
        for message in reader.got:
            await self._hears(message)
        await self._watches(reader)

    async def listens(self, reader: SocketClient, for_s: float) -> None:
        for message in await reader.collect_for(for_s):
            await self._hears(message)

    async def _hears(self, message: Message) -> None:
        assert message["type"] in SERVER_MESSAGE_TYPES, message
        for page in self.pages:
            await page.apply(message)

    async def _watches(self, reader: SocketClient) -> None:
        """Watch all shown posts, the newest last: the socket keeps the newest."""
        watched = [str(id) for id in sorted(set().union(*(page.watched() for page in self.pages)))]
        for start in range(0, len(watched), PAGE_LIMIT):
            await reader.send({"type": "watch", "ids": watched[start : start + PAGE_LIMIT]})
