"""Home timelines with boosts equal a brute-force evaluation of the rule after random actions.

The rule: a boost is hidden if its original, or one of the 50 boosts directly before it, is at most 24 h older and
by an account that the reader follows and sees. Caches are dropped at random: pages depend only on sources.
"""

import asyncio
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialsite.clock import DAY_MS, FixedClock
from socialsite.container import Services
from socialsite.ids import AccountId, PostId, ms_from_id
from socialsite.service_config import ServiceConfig
from socialsite.store import Store
from tests.support.random_tests import examples
from tests.support.reactions import PersonReactions
from tests.support.redis_server import RedisServer
from tests.support.stores import opened_store
from tests.support.world import Person, World, ids_on
from timelines import keys
from timelines.posts.post import Post

PEOPLE = 4
BEFORE_MOST = 50
SMALL = ServiceConfig(home_cap=6, posts_per_pass=1, time_slice_ms=0, read_ahead=1)  # causes floors, trims and merges
PERSON, POST = st.integers(0, PEOPLE - 1), st.integers(0, 5)
STEP = st.one_of(
    st.tuples(st.just("publish"), PERSON, POST),
    st.tuples(st.just("boost"), PERSON, POST),
    st.tuples(st.just("boost"), PERSON, POST),
    st.tuples(st.just("unboost"), PERSON, POST),
    st.tuples(st.sampled_from(["follow", "unfollow"]), PERSON, PERSON),
    st.tuples(st.sampled_from(["wait", "work", "lose", "delete"]), PERSON, POST),
)
WAITS_MS = (1, 500, 3_000, 3_600_000, DAY_MS // 2, DAY_MS)


@dataclass
class History:
    """The actions as the model records them, and the site that performs them."""

    services: Services
    clock: FixedClock
    people: list[Person]
    following: dict[AccountId, set[AccountId]]
    posts: list[Post] = field(default_factory=list)
    boosts: dict[tuple[PostId, AccountId], PostId] = field(default_factory=dict)

    async def step(self, what: str, who: int, which: int) -> None:
        person, acts = self.people[who], PersonReactions(self.services)
        post = self.posts[-1 - which] if which < len(self.posts) else None
        match what:
            case "publish":
                self.posts.append(await person.publishes("words"))
            case "boost" if post:
                await acts.boosts(person, post)
                boost_id = await acts.boost_of(person, post)
                assert boost_id
                self.boosts.setdefault((post.id, person.id), boost_id)
                assert self.boosts[post.id, person.id] == boost_id
            case "unboost" if post:
                await acts.unboosts(person, post)
                self.boosts.pop((post.id, person.id), None)
            case "delete" if post:
                await self._delete(post)
            case "follow" if person is not self.people[which]:
                await person.follows(self.people[which])
                self.following[person.id].add(self.people[which].id)
            case "unfollow":
                await person.unfollows(self.people[which])
                self.following[person.id].discard(self.people[which].id)
            case "wait":
                self.clock.advance(WAITS_MS[which])
            case "work":
                await World(self.services).deliver_all()
            case "lose":
                home = keys.home_timeline(person.id)
                await self.services.store.node(home).execute("DEL", home)
        self.clock.advance(1)

    async def _delete(self, post: Post) -> None:
        await self.services.publishing.delete(account_id=post.author_id, post_id=post.id)
        self.posts.remove(post)
        self.boosts = {pair: id for pair, id in self.boosts.items() if pair[0] != post.id}

    def home(self, reader: Person) -> list[PostId]:
        """Return the expected home timeline, by the literal rule."""
        followed = self.following[reader.id] | {reader.id}
        post_ids = [post.id for post in self.posts if post.author_id in followed]
        for post in self.posts:
            all_boosts = sorted((id, who) for (original, who), id in self.boosts.items() if original == post.id)
            for at, (boost_id, booster) in enumerate(all_boosts):
                if booster not in followed:
                    continue
                before = [(post.id, post.author_id), *all_boosts[max(0, at - BEFORE_MOST) : at]]
                is_duplicate = any(
                    who in followed and ms_from_id(boost_id) - ms_from_id(id) <= DAY_MS for id, who in before
                )
                post_ids += [] if is_duplicate else [boost_id]
        return sorted(post_ids, reverse=True)

    async def compare(self, limit: int) -> None:
        await World(self.services).deliver_all()
        for reader in self.people:
            expected = self.home(reader)
            assert await self._downward(reader, limit) == expected, f"{reader.handle}, downward"
            assert await self._upward(reader, limit) == expected, f"{reader.handle}, upward"

    async def _downward(self, reader: Person, limit: int) -> list[PostId]:
        page = await reader.home(limit=limit)
        read = ids_on(page)
        while page.next_before is not None:
            assert len(page.entries) == limit, "a page is full unless the timeline ends"
            page = await reader.home(before=page.next_before, limit=limit)
            read += ids_on(page)
        return read

    async def _upward(self, reader: Person, limit: int) -> list[PostId]:
        read: list[PostId] = []
        after: int | None = 0
        while after is not None:
            page = await reader.home(after=after, limit=limit)
            read = ids_on(page) + read
            after = page.previous_after
        return read


async def history_over(store: Store) -> History:
    clock = FixedClock(1_900_000_000_000)
    services = Services(store, clock, SMALL)
    people = await World(services).people(*(f"p{number}" for number in range(PEOPLE)))
    history = History(services, clock, people, {person.id: set() for person in people})
    for person in people[1:]:
        await people[0].follows(person)
        history.following[people[0].id].add(person.id)
    history.posts.append(await people[1].publishes("the first"))
    return history


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, min_size=4, max_size=40), limit=st.integers(1, 5))
def test_home_timelines_with_boosts_follow_the_rule(
    redis_server: RedisServer, steps: list[tuple[str, int, int]], limit: int
) -> None:
    async def run() -> None:
        with redis_server.client() as client:
            client.flushall()
        async with opened_store(redis_server.url) as store:
            history = await history_over(store)
            for what, who, which in steps:
                await history.step(what, who, which)
            await history.compare(limit)

    asyncio.run(run())
