"""A small site and random actions, each applied to the site and to the rights model."""

from dataclasses import dataclass
from typing import Self, cast

from hypothesis import strategies as st
from msgspec import structs

from accounts.domain import Preferences, QuotePolicy
from accounts.errors import AccountNotFound
from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.errors import ApiError
from socialsite.ids import AccountId
from socialsite.service_config import ServiceConfig
from socialsite.store import Store
from tests.support.rights_model import RightsModel
from tests.support.world import Person, World
from timelines.errors import AlreadyVoted, PinsCapReached, PostInvalid, PostNotFound, VoteInvalid
from timelines.ids import ListId
from timelines.keys import PINS_CAP
from timelines.pages.page import TimelinePage
from timelines.posts.post import PUBLIC, Poll, PostDetails
from timelines.visibility.rights import NO_EXPIRY_MS

PEOPLE = 4
HOUR_MS = 3_600_000
SMALL_CONFIG = ServiceConfig(home_cap=5, list_cap=5, posts_per_pass=1, time_slice_ms=0, read_ahead=1)
TEXTS = ("plain #tea", "a word", "another word #tea")
PERSON, NUMBER = st.integers(0, PEOPLE - 1), st.integers(0, 3)
VERBS = st.sampled_from(
    [
        "publish", "publish", "publish", "follow", "follow", "unfollow", "block", "unblock", "mute",
        "mute a while", "unmute", "quiet", "unquiet", "lock", "unlock", "accept", "suspend", "reinstate",
        "limit", "limit", "unlimit",
        "filter", "unfilter", "boost", "boost", "delete", "wait", "work", "pin", "pin", "unpin", "choose languages",
        "choose languages", "quote", "quote", "quote", "revoke", "allow quotes", "edit", "edit", "vote", "vote",
    ]
)  # fmt: skip
STEPS = st.lists(st.tuples(VERBS, PERSON, PERSON, NUMBER), min_size=5, max_size=40)


@dataclass(kw_only=True)
class RightsSite(RightsModel):
    """The site and the model of its state. `lists` has one list per account, with every account on it."""

    services: Services
    people: list[Person]
    lists: dict[AccountId, ListId]

    @classmethod
    async def create(cls, store: Store) -> Self:
        clock = FixedClock(1_900_000_000_000)
        services = Services(store, clock, SMALL_CONFIG)
        people = await World(services).people(*(f"p{number}" for number in range(PEOPLE)))
        lists = {owner.id: (await owner.makes_list(*people)).id for owner in people}
        return cls(clock=clock, services=services, people=people, lists=lists)

    async def step(self, verb: str, one: Person, other: Person, number: int) -> None:
        self.clock.advance(7)
        act = getattr(self, "do_" + verb.replace(" ", "_"))
        await act(one, other, number)

    async def do_publish(self, one: Person, other: Person, number: int) -> None:
        if one.id not in self.suspended:
            text = TEXTS[number % len(TEXTS)]
            audience = (0, 0, 1, 2)[number]
            self.posts.append(await one.publishes(text, audience=audience, details=self._make_details(other, number)))

    def _make_details(self, other: Person, number: int) -> PostDetails:
        poll = Poll(("yes", "no"), multiple=False, ends_ms=self.clock.now_ms() + HOUR_MS) if number % 2 else None
        return PostDetails(language=(None, "de", "fr")[other.id % 3], poll=poll)

    async def do_edit(self, one: Person, other: Person, number: int) -> None:
        """Change text, language and poll of a post that other people may see or not, or may have voted in."""
        own = [post for post in self.posts if post.author_id == one.id]
        if number >= len(own) or one.id in self.suspended:
            return
        text, details = TEXTS[other.id % len(TEXTS)], self._make_details(other, number)
        if details.poll is not None and other.id % 2:
            details = structs.replace(details, poll=structs.replace(details.poll, options=("tea", "coffee")))
        edited = await one.edits(own[number], text, details=details)
        assert edited.audience == own[number].audience
        self.replace_post(own[number], edited)

    async def do_vote(self, one: Person, other: Person, number: int) -> None:
        polls = [post for post in self.posts if post.extra.poll is not None]
        if number >= len(polls):
            return
        post = polls[-1 - number]
        may_see = self.is_visible(post, one.id, "profile")
        has_voted = (one.id, post.id) in self.votes
        try:
            await self.services.polls.vote(account_id=one.id, post_id=post.id, choices=[number % 2])
        except PostNotFound:
            assert not may_see
        except VoteInvalid:
            assert may_see
            assert one.id == post.author_id
        except AlreadyVoted:
            assert may_see
            assert self.votes[one.id, post.id] != number % 2
        else:
            assert may_see
            assert one.id != post.author_id
            assert not has_voted or self.votes[one.id, post.id] == number % 2
            self.votes[one.id, post.id] = number % 2

    async def do_delete(self, one: Person, other: Person, number: int) -> None:
        own = [post for post in self.posts if post.author_id == one.id]
        if number < len(own):
            await one.deletes(own[number])
            self.posts.remove(own[number])
            self.pins = [post for post in self.pins if post != own[number]]

    async def do_pin(self, one: Person, other: Person, number: int) -> None:
        own = [post for post in self.posts if post.author_id == one.id and post not in self.pins]
        if number >= len(own) or one.id in self.suspended:
            return
        is_full = sum(post.author_id == one.id for post in self.pins) == PINS_CAP
        try:
            await one.pins(own[number])
        except PinsCapReached:
            assert is_full
            return
        assert not is_full
        self.pins.append(own[number])

    async def do_unpin(self, one: Person, other: Person, number: int) -> None:
        own = [post for post in self.pins if post.author_id == one.id]
        if number < len(own) and one.id not in self.suspended:
            await self.services.pins.unpin(account_id=one.id, post_id=own[number].id)
            self.pins.remove(own[number])

    async def do_choose_languages(self, one: Person, other: Person, number: int) -> None:
        if one.id not in self.suspended:
            languages = ((), ("de",), ("fr", "en"), ("en",))[number]
            self.languages[one.id] = languages
            await self._store_preferences(one)

    async def _store_preferences(self, one: Person) -> None:
        policy = cast(QuotePolicy, self.policies.get(one.id, "public"))
        preferences = Preferences(languages=self.languages.get(one.id, ()), quote_policy=policy)
        await self.services.accounts.change_preferences(account_id=one.id, change=lambda _: preferences)

    async def do_allow_quotes(self, one: Person, other: Person, number: int) -> None:
        if one.id not in self.suspended:
            self.policies[one.id] = ("public", "public", "followers", "nobody")[number]
            await self._store_preferences(one)

    async def do_quote(self, one: Person, other: Person, number: int) -> None:
        of_other = [post for post in self.posts if post.author_id == other.id]
        if one.id in self.suspended or number >= len(of_other):
            return
        quoted, text = of_other[-1 - number], TEXTS[(number + one.id) % len(TEXTS)]
        may = self.may_quote(quoted, one.id)
        try:
            quote = await one.publishes(text, audience=PUBLIC, details=PostDetails(quote_of=quoted.id))
        except PostInvalid:
            assert not may
            return
        assert may
        self.posts.append(quote)
        self.quotes[quote.id] = quoted

    async def do_revoke(self, one: Person, other: Person, number: int) -> None:
        of_one = [id for id, quoted in self.quotes.items() if quoted.author_id == one.id]
        if one.id not in self.suspended and number < len(of_one):
            post_id = of_one[number]
            try:
                await self.services.quotes.revoke(account_id=one.id, post_id=post_id)
            except PostNotFound:
                assert post_id not in [post.id for post in self.posts]
                return
            if self.quotes[post_id] in self.posts:
                self.revoked.add(post_id)

    async def do_boost(self, one: Person, other: Person, number: int) -> None:
        if number >= len(self.posts):
            return
        try:
            await self.services.reactions.boost(
                account_id=one.id, post_id=self.posts[-1 - number].id, now_ms=self.clock.now_ms()
            )
        except ApiError:
            return
        page = await self.services.reading.profile(one.id, viewer_id=one.id, limit=1)
        self.boosts += [entry.post for entry in page.entries if entry.post.boost_of is not None]

    async def do_follow(self, one: Person, other: Person, number: int) -> None:
        pair = one.id, other.id
        may = one is not other and not self.is_block_between(one.id, other.id) and not {*pair} & self.suspended
        try:
            await one.follows(other)
        except (AccountNotFound, ApiError):
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
            await self.services.follow_requests.accept(
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
            self.mutes[one.id, other.id] = NO_EXPIRY_MS

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
            await self.services.blocks_and_mutes.hide_boosts(account_id=one.id, other_id=other.id, now_ms=now_ms)

    async def do_unquiet(self, one: Person, other: Person, number: int) -> None:
        await self.services.blocks_and_mutes.show_boosts(account_id=one.id, other_id=other.id)

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

    async def do_limit(self, one: Person, other: Person, number: int) -> None:
        await self.services.accounts.restrict(one.id, "limit", 1)
        self.limited.add(one.id)

    async def do_unlimit(self, one: Person, other: Person, number: int) -> None:
        await self.services.accounts.restrict(one.id, "limit", 0)
        self.limited.discard(one.id)

    async def do_filter(self, one: Person, other: Person, number: int) -> None:
        until_ms = self.clock.now_ms() + 40 if number == 3 else None
        new_filter = await self.services.filters.add(
            account_id=one.id,
            phrase="word" if number % 2 else "tea",
            action="hide" if number else "warn",
            until_ms=until_ms,
        )
        self.filters[one.id].append(new_filter)

    async def do_unfilter(self, one: Person, other: Person, number: int) -> None:
        for each in self.filters.pop(one.id, []):
            await self.services.filters.delete(account_id=one.id, number=each.id)

    async def do_wait(self, one: Person, other: Person, number: int) -> None:
        self.clock.advance(20 * (number + 1))

    async def do_work(self, one: Person, other: Person, number: int) -> None:
        await World(self.services).deliver_all()

    async def page(
        self, viewer: AccountId | None, kind: str, of: AccountId | None, before: int | None, limit: int
    ) -> TimelinePage:
        reading = self.services.reading
        if kind == "home" and viewer is not None:
            return await reading.home(viewer, before=before, limit=limit)
        if kind == "list" and viewer is not None:
            return await self.services.lists.read_timeline(
                self.lists[viewer], viewer_id=viewer, before=before, limit=limit
            )
        if kind == "profile" and of is not None:
            return await reading.profile(of, viewer_id=viewer, before=before, limit=limit)
        if kind == "tag":
            return await reading.tag("tea", viewer_id=viewer, before=before, limit=limit)
        return await reading.public(viewer_id=viewer, before=before, limit=limit)
