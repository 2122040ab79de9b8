"""Old page + what the socket said == fresh page, for every timeline, however sockets came and went.

A reader keeps what a page shows, applies `entry`, `deleted` and `gap` as static/js/live.js does, and loses
its socket again and again. Hours go by on the authors' clock, so that a replay, which begins a minute before
the last id, tells but a part. `SOCKET_ROUNDS=40` goes on for longer; the seed is printed.
"""

import asyncio
import os
import random
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from socialsite.clock import FixedClock
from socialsite.configuration import Configuration
from socialsite.recipes.hub import alive, online
from socialsite.services import Services, build_services
from socialsite.store import Store
from tests.support.redis_server import RedisServer
from tests.support.sockets import Client, Daphne, Message, client, running, signed_in
from tests.support.world import Person, World
from timelines.domain.page import TimelinePage
from timelines.domain.post import Post

ROUNDS = int(os.environ.get("SOCKET_ROUNDS", "6"))
PAGE = 100
LIVE = 25
"""What happens while a socket stays open."""
SLOW_MS = 8_000
"""Between two of what happens, at most: of a replay's minute there is the rest."""
HOURS_MS = 10 * 3_600_000
BOOSTED = re.compile(r'data-boost-of="(\d+)"')
Read = Callable[..., Awaitable[TimelinePage]]


@pytest.fixture(scope="module")
def site(redis_server: RedisServer) -> Iterator[Daphne]:
    with running(redis_server.url) as found:
        yield found


@dataclass
class Page:
    """One timeline as a reader has it on screen: entry -> the post that it shows."""

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
                original = BOOSTED.search(message["html"])
                id = int(message["id"])
                self.shown[id] = int(original[1]) if original else id
                self.last = max(self.last, id)
            elif message["type"] == "gap":
                self.last = max(self.last, int(message["newest"]))
                self.shown |= await self.read()

    async def read(self) -> dict[int, int]:
        """The page as it is now."""
        page = await self.fresh(limit=PAGE)
        return {int(entry.post.id): int(entry.shown.post.id) for entry in page.entries}

    def watched(self) -> set[int]:
        """What it asks the server about: entries and what they show."""
        return {id for pair in self.shown.items() for id in pair}


@dataclass
class Town:
    """Alice reads; Bob, Carol, Dave and Erin write. She follows Bob and Carol, lists Carol and Dave."""

    services: Services
    clock: FixedClock
    world: World
    alice: Person
    authors: list[Person]
    pages: list[Page]
    chance: random.Random
    written: list[tuple[Person, Post]] = field(default_factory=list)
    boosted: list[tuple[Person, Post]] = field(default_factory=list)

    async def something_happens(self) -> None:
        author, roll = self.chance.choice(self.authors), self.chance.random()
        self.clock.advance(self.chance.randrange(SLOW_MS))
        if roll < 0.45 or not self.written:
            text = self.chance.choice(["words", "words #tea"])
            self.written.append(
                (author, await author.publishes(text, audience=self.chance.choice([0, 0, 1])))
            )
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
            await self.services.reactions.unboost(account_id=booster.id, post_id=post.id)
        if self.chance.random() < 0.7:  # otherwise a later turn delivers it late
            await self.world.work()

    async def boosts(self, booster: Person, post: Post) -> None:
        self.clock.advance(1)
        now_ms = self.services.clock.now_ms()
        await self.services.reactions.boost(account_id=booster.id, post_id=post.id, now_ms=now_ms)
        if (booster, post) not in self.boosted:
            self.boosted.append((booster, post))

    async def boosted_by_all(self) -> Post:
        """A stranger's post that Bob, Carol and Dave boost: home shows it by Bob, the list by Carol."""
        *boosters, stranger = self.authors
        post = await stranger.publishes("of a stranger")
        for booster in boosters:
            await self.boosts(booster, post)
        return post

    async def takes_back(self, number: int, post: Post) -> None:
        """Bob (0) or Carol (1) does: the boost behind takes over, at home or on the list."""
        await self.services.reactions.unboost(account_id=self.authors[number].id, post_id=post.id)

    async def a_while_goes_by(self) -> None:
        """What stands so far is delivered in time, and out of a replay's reach then."""
        await self.world.work()
        self.clock.advance(5 * 60_000)
        for author in self.authors:
            self.written.append((author, await author.publishes("later #tea")))
        await self.world.work()

    def _one_of_the_last(self, acts: list[tuple[Person, Post]]) -> tuple[Person, Post]:
        """On the newest pages; it is taken out."""
        return acts.pop(self.chance.randrange(max(0, len(acts) - 20), len(acts)))

    async def something_breaks(self) -> None:
        """The pub/sub connection of the web process, or its presence: what is said meanwhile is lost."""
        node = self.services.store.node(alive())
        if self.chance.random() < 0.5:
            await node.execute("CLIENT", "KILL", "TYPE", "pubsub")
            return
        for process in await node.execute("ZRANGE", alive(), 0, -1):
            key = online(process.decode())
            await self.services.store.node(key).execute("DEL", key)

    async def goes_on_until(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self.something_happens()
            await asyncio.sleep(self.chance.uniform(0, 0.03))


@pytest_asyncio.fixture
async def town(store: Store) -> AsyncIterator[Town]:
    seed = int(os.environ.get("SOCKET_SEED", "0")) or random.randrange(1 << 32)
    print(f"SOCKET_SEED={seed}")
    clock = FixedClock(int(time.time() * 1000) - HOURS_MS)
    services, now_ms = build_services(store, clock, Configuration()), clock.now_ms()
    world = World(services)
    alice, bob, carol, dave, erin = await world.people("alice", "bob", "carol", "dave", "erin")
    await alice.follows(bob)
    await alice.follows(carol)
    kept = await services.lists.create(owner_id=alice.id, title="Kept", now_ms=now_ms)
    for member in (carol, dave):
        await services.lists.add_member(
            owner_id=alice.id, list_id=kept.id, account_id=member.id, now_ms=now_ms
        )

    def reading(read: Read, *of: object, **by: object) -> Read:
        return lambda limit: read(*of, **by, limit=limit)

    reads = services.reading
    pages = [
        Page("home", reading(reads.home, alice.id)),
        Page("public", reading(reads.public, viewer_id=alice.id)),
        Page("profile:bob", reading(reads.profile, bob.id, viewer_id=alice.id)),
        Page(f"list:{kept.id}", reading(reads.list_timeline, kept.id, viewer_id=alice.id)),
        Page("tag:tea", reading(reads.tag, "tea", viewer_id=alice.id)),
    ]
    yield Town(services, clock, world, alice, [bob, carol, dave, erin], pages, random.Random(seed))


async def open_pages(reader: Client, town: Town) -> None:
    """As the site's script: subscribe from the last id, then say what is shown."""
    for page in town.pages:
        await reader.subscribe(page.name, after=page.last)
    for message in reader.got:
        await heard(town, message)
    await watch(reader, town)


async def watch(reader: Client, town: Town) -> None:
    """All that is shown; the newest last, which is what the socket goes on watching."""
    watched = [str(id) for id in sorted(set().union(*(page.watched() for page in town.pages)))]
    for start in range(0, len(watched), PAGE):
        await reader.say({"type": "watch", "ids": watched[start : start + PAGE]})


async def heard(town: Town, message: Message) -> None:
    assert message["type"] in ("entry", "deleted", "gap", "subscribed", "counts"), message
    for page in town.pages:
        await page.apply(message)


async def listen(reader: Client, town: Town, for_s: float) -> None:
    for message in await reader.silence(for_s):
        await heard(town, message)


async def test_a_stale_page_and_what_the_socket_says_are_the_fresh_page(site: Daphne, town: Town) -> None:
    cookie = await signed_in(town.alice)
    for _ in range(ROUNDS):
        stop = asyncio.Event()
        life = asyncio.create_task(town.goes_on_until(stop))
        async with client(site, cookie) as reader:
            await open_pages(reader, town)
            await listen(reader, town, town.chance.uniform(0.05, 0.4))
            if town.chance.random() < 0.3:
                await town.something_breaks()
                await listen(reader, town, 0.2)
        await asyncio.sleep(town.chance.uniform(0, 0.3))  # entries come and go while no socket is open
        stop.set()
        await life
    await town.world.work()
    async with client(site, cookie) as reader:
        await open_pages(reader, town)
        await listen(reader, town, 1.0)
        await agreed(reader, town)
        for _ in range(LIVE):  # and now it stays open
            await town.something_happens()
        posts = [await town.boosted_by_all() for _ in range(4)]
        await town.a_while_goes_by()
        await agreed(reader, town)
        for number, post in enumerate(posts[:2]):
            await town.takes_back(number, post)
        await agreed(reader, town)
    for number, post in enumerate(posts[2:]):
        await town.takes_back(number, post)
    async with client(site, cookie) as reader:
        await open_pages(reader, town)
        await agreed(reader, town)
        await town.something_breaks()
        await town.something_happens()
        await town.world.work()
        await agreed(reader, town, within_s=16)
    print(", ".join(f"{page.name}: {len(page.shown)}" for page in town.pages))


async def agreed(reader: Client, town: Town, within_s: float = 4) -> None:
    """The pages become right; `within_s`: a process takes a while to notice what it lost."""
    until = asyncio.get_running_loop().time() + within_s
    wrong = town.pages
    while wrong and asyncio.get_running_loop().time() < until:
        await listen(reader, town, 0.5)
        wrong = [page for page in town.pages if shortened(page.shown) != shortened(await page.read())]
    for page in wrong:
        assert shortened(page.shown) == shortened(await page.read()), page.name


def shortened(shown: dict[int, int]) -> list[int]:
    """Both end somewhere: what stands on the newest page of both is compared."""
    return sorted(shown, reverse=True)[: PAGE // 2]


async def test_whoever_watches_is_told_what_was_deleted_meanwhile_and_nothing_of_what_is_hidden(
    site: Daphne, town: Town
) -> None:
    bob, stranger = town.authors[0], town.authors[2]
    gone, stands = await bob.publishes("gone"), await bob.publishes("stands")
    hidden = await stranger.publishes("for followers", audience=2)
    await bob.deletes(gone)
    async with client(site) as reader:
        ids = [gone.id, stands.id, hidden.id, hidden.id + 1]
        await reader.say({"type": "watch", "ids": [str(id) for id in ids]})
        heard = await reader.silence(1.0)
        assert heard  # once, or twice where the word of the deletion itself is still on its way
        assert all(message == {"type": "deleted", "id": str(gone.id)} for message in heard)
