"""Every timeline, for every reader, after random relations: what reading all posts one by one would show.

The model keeps its own sets and asks `may_see` of each post; the site reads pages. Boosts are left to
test_boosts_model, but what sockets are sent (hydrating_for_many) has to be what pages show, boosts and all.
"""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.domain import AccountId, Author
from accounts.errors import AccountNotFound
from socialsite.clock import FixedClock
from socialsite.configuration import Configuration
from socialsite.services import Services, build_services
from socialsite.store import Store, open_store
from tests.support.redis_server import RedisServer
from tests.support.world import Person, World
from timelines.domain.account_list import ListId
from timelines.domain.filters import Filter, matching
from timelines.domain.page import TimelinePage
from timelines.domain.post import Post
from timelines.domain.rights import FOREVER, UNFILTERED, Place, ReaderState, may_see
from timelines.errors import PostNotFound, TimelinesError
from timelines.services.hydrating_for_many import Seat, hydrate_for

PEOPLE = 4
SMALL = Configuration(home_cap=5, list_cap=5, posts_per_pass=2, read_ahead=1)
TEXTS = ("plain #tea", "a word", "another word #tea")
PERSON, NUMBER = st.integers(0, PEOPLE - 1), st.integers(0, 3)
VERBS = st.sampled_from(
    [
        "publish", "publish", "publish", "follow", "follow", "unfollow", "block", "unblock", "mute",
        "mute a while", "unmute", "quiet", "unquiet", "lock", "unlock", "accept", "suspend", "reinstate",
        "filter", "unfilter", "boost", "boost", "delete", "wait", "work",
    ]
)  # fmt: skip
STEPS = st.lists(st.tuples(VERBS, PERSON, PERSON, NUMBER), min_size=5, max_size=40)
Pairs = set[tuple[AccountId, AccountId]]


@dataclass
class Site:
    """The site, and the model of what was done to it."""

    services: Services
    clock: FixedClock
    people: list[Person]
    lists: dict[AccountId, ListId]
    posts: list[Post] = field(default_factory=list)
    boosts: list[Post] = field(default_factory=list)
    follows: Pairs = field(default_factory=set)
    requests: Pairs = field(default_factory=set)
    blocks: Pairs = field(default_factory=set)
    quieted: Pairs = field(default_factory=set)
    mutes: dict[tuple[AccountId, AccountId], int] = field(default_factory=dict)
    private: set[AccountId] = field(default_factory=set)
    suspended: set[AccountId] = field(default_factory=set)
    filters: dict[AccountId, list[Filter]] = field(default_factory=lambda: defaultdict(list))

    # Doing

    async def step(self, verb: str, one: Person, other: Person, number: int) -> None:
        self.clock.advance(7)
        act = getattr(self, "do_" + verb.replace(" ", "_"))
        await act(one, other, number)

    async def do_publish(self, one: Person, other: Person, number: int) -> None:
        if one.id not in self.suspended:
            text = TEXTS[number % len(TEXTS)]
            self.posts.append(await one.publishes(text, audience=(0, 0, 1, 2)[number]))

    async def do_delete(self, one: Person, other: Person, number: int) -> None:
        own = [post for post in self.posts if post.author_id == one.id]
        if number < len(own):
            await one.deletes(own[number])
            self.posts.remove(own[number])

    async def do_boost(self, one: Person, other: Person, number: int) -> None:
        if number >= len(self.posts):
            return
        try:
            await self.services.reactions.boost(
                account_id=one.id, post_id=self.posts[-1 - number].id, now_ms=self.clock.now_ms()
            )
        except TimelinesError:
            return
        page = await self.services.reading.profile(one.id, viewer_id=one.id, limit=1)
        self.boosts += [entry.post for entry in page.entries if entry.post.boost_of is not None]

    async def do_follow(self, one: Person, other: Person, number: int) -> None:
        pair = one.id, other.id
        may = one is not other and not self.apart(one.id, other.id) and not {*pair} & self.suspended
        try:
            await one.follows(other)
        except (AccountNotFound, TimelinesError):
            assert not may
            return
        assert may
        if other.id in self.private and pair not in self.follows:
            self.requests.add(pair)
        else:
            self.follows.add(pair)
            self.requests.discard(pair)

    async def do_unfollow(self, one: Person, other: Person, number: int) -> None:
        await one.unfollows(other)
        self.follows.discard((one.id, other.id))
        self.requests.discard((one.id, other.id))

    async def do_accept(self, one: Person, other: Person, number: int) -> None:
        pair = other.id, one.id
        try:
            await self.services.requests.accept(
                account_id=one.id, requester_id=other.id, now_ms=self.clock.now_ms()
            )
        except AccountNotFound:
            assert pair not in self.requests | self.follows or other.id in self.suspended
            return
        self.follows.add(pair)
        self.requests.discard(pair)

    async def do_block(self, one: Person, other: Person, number: int) -> None:
        if one is other:
            return
        await one.blocks(other)
        self.blocks.add((one.id, other.id))
        for pair in ((one.id, other.id), (other.id, one.id)):
            self.follows.discard(pair)
            self.requests.discard(pair)

    async def do_unblock(self, one: Person, other: Person, number: int) -> None:
        await one.unblocks(other)
        self.blocks.discard((one.id, other.id))

    async def do_mute(self, one: Person, other: Person, number: int) -> None:
        if one is not other:
            await one.mutes(other)
            self.mutes[one.id, other.id] = FOREVER

    async def do_mute_a_while(self, one: Person, other: Person, number: int) -> None:
        if one is not other:
            until_ms = self.clock.now_ms() + 40
            await one.mutes(other, until_ms)
            self.mutes[one.id, other.id] = until_ms

    async def do_unmute(self, one: Person, other: Person, number: int) -> None:
        await one.unmutes(other)
        self.mutes.pop((one.id, other.id), None)

    async def do_quiet(self, one: Person, other: Person, number: int) -> None:
        if one is not other:
            now_ms = self.clock.now_ms()
            await self.services.relations.quiet(account_id=one.id, other_id=other.id, now_ms=now_ms)

    async def do_unquiet(self, one: Person, other: Person, number: int) -> None:
        await self.services.relations.unquiet(account_id=one.id, other_id=other.id)

    async def do_lock(self, one: Person, other: Person, number: int) -> None:
        await one.locks()
        self.private.add(one.id)

    async def do_unlock(self, one: Person, other: Person, number: int) -> None:
        await one.locks(private=False)
        self.private.discard(one.id)

    async def do_suspend(self, one: Person, other: Person, number: int) -> None:
        await self.services.accounts.suspend(account_id=one.id)
        self.suspended.add(one.id)

    async def do_reinstate(self, one: Person, other: Person, number: int) -> None:
        await self.services.accounts.reinstate(account_id=one.id)
        self.suspended.discard(one.id)

    async def do_filter(self, one: Person, other: Person, number: int) -> None:
        until_ms = self.clock.now_ms() + 40 if number == 3 else None
        made = await self.services.filters.add(
            account_id=one.id,
            phrase="word" if number % 2 else "tea",
            action="hide" if number else "warn",
            until_ms=until_ms,
        )
        self.filters[one.id].append(made)

    async def do_unfilter(self, one: Person, other: Person, number: int) -> None:
        for each in self.filters.pop(one.id, []):
            await self.services.filters.delete(account_id=one.id, number=each.id)

    async def do_wait(self, one: Person, other: Person, number: int) -> None:
        self.clock.advance(20 * (number + 1))

    async def do_work(self, one: Person, other: Person, number: int) -> None:
        await World(self.services).work()

    # The model

    def apart(self, one: AccountId, other: AccountId) -> bool:
        return bool({(one, other), (other, one)} & self.blocks)

    def state(self, viewer: AccountId) -> ReaderState:
        now_ms = self.clock.now_ms()
        return ReaderState(
            viewer,
            now_ms,
            blocks=frozenset(other for one, other in self.blocks if one == viewer),
            blocked_by=frozenset(one for one, other in self.blocks if other == viewer),
            muted=frozenset(
                other for (one, other), until in self.mutes.items() if one == viewer and until > now_ms
            ),
            filters=tuple(self.filters[viewer]),
        )

    def author(self, account_id: AccountId) -> Author:
        state = "suspended" if account_id in self.suspended else "active"
        return Author(account_id, "", "", state, 1, account_id in self.private)

    def shows(self, post: Post, viewer: AccountId | None, place: Place) -> bool:
        reader = None if viewer is None else self.state(viewer)
        follows = (viewer, post.author_id) in self.follows
        author = self.author(post.author_id)
        if not may_see(post, author, reader=reader, follows=follows, place=place):
            return False
        if reader is None or viewer == post.author_id or place in UNFILTERED:
            return True
        found = matching(reader.filters, post.text, reader.now_ms)
        return found is None or found.action == "warn"

    # Comparing

    async def compare(self, limit: int) -> None:
        for viewer in self.people:
            await self._compare(viewer.id, "home", limit, Place.HOME)
            await self._compare(viewer.id, "list", limit, Place.LIST)
        for viewer_id in (None, *(person.id for person in self.people)):
            for kind, place in (("public", Place.PUBLIC), ("tag", Place.TAG)):
                await self._compare(viewer_id, kind, limit, place)
            for person in self.people:
                await self._compare(viewer_id, "profile", limit, Place.PROFILE, person.id)
        await self._compare_sockets()

    async def _compare(
        self, viewer: AccountId | None, kind: str, limit: int, place: Place, of: AccountId | None = None
    ) -> None:
        expected = [
            post.id
            for post in self.posts
            if self._belongs(post, viewer, kind, of) and self.shows(post, viewer, place)
        ]
        found, before = [], None
        while True:
            page = await self._page(viewer, kind, of, before, limit)
            found += [entry.post.id for entry in page.entries if entry.original is None]
            before = page.next_before
            if before is None:
                break
        assert found == sorted(expected, reverse=True), f"{kind} of {of} for {viewer}"

    def _belongs(self, post: Post, viewer: AccountId | None, kind: str, of: AccountId | None) -> bool:
        match kind:
            case "home":
                return viewer == post.author_id or (viewer, post.author_id) in self.follows
            case "profile":
                return post.author_id == of
            case "tag":
                return "#tea" in post.text
            case _:
                return True  # everybody is on everybody's list

    async def _page(
        self, viewer: AccountId | None, kind: str, of: AccountId | None, before: int | None, limit: int
    ) -> TimelinePage:
        reading = self.services.reading
        if kind == "home" and viewer is not None:
            return await reading.home(viewer, before=before, limit=limit)
        if kind == "list" and viewer is not None:
            return await reading.list_timeline(
                self.lists[viewer], viewer_id=viewer, before=before, limit=limit
            )
        if kind == "profile" and of is not None:
            return await reading.profile(of, viewer_id=viewer, before=before, limit=limit)
        if kind == "tag":
            return await reading.tag("tea", viewer_id=viewer, before=before, limit=limit)
        return await reading.public(viewer_id=viewer, before=before, limit=limit)

    async def _compare_sockets(self) -> None:
        """All readers at once see of each post and boost what each of them sees on a page."""
        hydrator, reading = self.services.hydrator, self.services.reading
        seats = [Seat(None, Place.PUBLIC), Seat(None, Place.PROFILE)]
        for person in self.people:
            seats += [
                Seat(person.id, Place.HOME, reading.home_rights(person.id)),
                await self._list_seat(person),
                Seat(person.id, Place.PROFILE),
                Seat(person.id, Place.TAG),
            ]
        for post in (*self.posts, *self.boosts):
            sent = await hydrate_for(hydrator, post.id, post.author_id, seats)
            for seat, entry in zip(seats, sent, strict=True):
                alone = await hydrator.hydrate(
                    [post.id],
                    viewer_id=seat.viewer_id,
                    rights=seat.rights,
                    place=seat.place,
                    answering=seat.answering,
                )
                assert [entry] == (alone or [None]), f"{post} for {seat.viewer_id} at {seat.place}"

    async def _list_seat(self, owner: Person) -> Seat:
        lists = self.services.lists
        rule = await lists.rule(await lists.get(owner_id=owner.id, list_id=self.lists[owner.id]))
        return Seat(owner.id, Place.LIST, rule.rights, rule.answering)


async def site_over(store: Store) -> Site:
    clock = FixedClock(1_900_000_000_000)
    services = build_services(store, clock, SMALL)
    people = await World(services).people(*(f"p{number}" for number in range(PEOPLE)))
    lists: dict[AccountId, ListId] = {}
    for owner in people:
        made = await services.lists.create(owner_id=owner.id, title="All", now_ms=1)
        lists[owner.id] = made.id
        for member in people:
            await services.lists.add_member(
                owner_id=owner.id, list_id=made.id, account_id=member.id, now_ms=1
            )
    return Site(services, clock, people, lists)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, limit=st.integers(1, 4))
def test_every_timeline_shows_what_the_rights_say(
    redis_server: RedisServer, steps: list[tuple[str, int, int, int]], limit: int
) -> None:
    async def run() -> None:
        with redis_server.client() as client:
            client.flushall()
        store = await open_store(redis_server.url)
        try:
            site = await site_over(store)
            for number, (verb, one, other, choice) in enumerate(steps):
                try:
                    await site.step(verb, site.people[one], site.people[other], choice)
                except PostNotFound:
                    raise AssertionError(f"step {number}: {verb}") from None
            await World(site.services).work()
            await site.compare(limit)
        finally:
            await store.close()

    asyncio.run(run())
