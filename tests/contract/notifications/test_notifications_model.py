"""After random actions, notifications and unread counts equal those of a plain model."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from socialsite.container import Services
from socialsite.errors import ApiError
from socialsite.ids import PostId
from tests.support.random_tests import mostly_nightly
from tests.support.reactions import PersonReactions
from tests.support.world import Person, World
from timelines.posts.post import Post

STEPS = 150
Told = tuple[str, str, PostId | None]
"""Kind, actor, post."""


@dataclass
class Model:
    """The expected state: sets of relations, and each reader's notifications, oldest first."""

    follows: set[tuple[str, str]] = field(default_factory=set)
    likes: set[tuple[str, PostId]] = field(default_factory=set)
    boosts: set[tuple[str, PostId]] = field(default_factory=set)
    gone: set[PostId] = field(default_factory=set)
    mutes: set[tuple[str, str]] = field(default_factory=set)
    blocks: set[tuple[str, str]] = field(default_factory=set)
    suspended: set[str] = field(default_factory=set)
    told: dict[str, list[Told]] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    """The number of read entries of `told`."""

    def tell(self, reader: str, told: Told) -> None:
        if reader != told[1] and told not in self.told.setdefault(reader, []):
            self.told.setdefault(reader, []).append(told)

    def forget(self, reader: str, told: Told) -> None:
        """Remove a notification whose follow ended, because the next follow is notified again."""
        notifications = self.told.setdefault(reader, [])
        if told in notifications:
            at = notifications.index(told)
            notifications.remove(told)
            self.read[reader] = self.read.get(reader, 0) - (at < self.read.get(reader, 0))

    def sees(self, reader: str, at: int) -> bool:
        kind, actor, post = self.told[reader][at]
        if actor in self.suspended or (reader, actor) in self.mutes:
            return False
        if {(reader, actor), (actor, reader)} & self.blocks or post in self.gone:
            return False
        if kind == "boost":
            return (actor, post) in self.boosts
        if kind == "like":
            return (actor, post) in self.likes
        return kind != "follow" or (actor, reader) in self.follows

    def seen(self, reader: str) -> list[Told]:
        notifications = self.told.get(reader, [])
        return [notifications[at] for at in reversed(range(len(notifications))) if self.sees(reader, at)]

    def unread(self, reader: str) -> int:
        notifications = self.told.get(reader, [])
        return sum(self.sees(reader, at) for at in range(self.read.get(reader, 0), len(notifications)))


class Play:
    """Accounts that act at random, and the model of the expected state."""

    def __init__(self, world: World, people: list[Person], seed: int) -> None:
        self.random = random.Random(seed)
        self.world = world
        self.services = world.services
        self.acts = PersonReactions(world.services)
        self.people = people
        self.model = Model()
        self.posts: list[tuple[Person, Post]] = []

    async def step(self) -> None:
        active = [person for person in self.people if person.handle not in self.model.suspended]
        actor = self.random.choice(active)
        acts = [
            *(self.publish, self.publish, self.answer, self.delete, self.like, self.like, self.unlike),
            *(self.boost, self.unboost, self.follow, self.follow, self.unfollow, self.mute, self.block),
            *(self.suspend, self.reads),
        ]
        await self.random.choice(acts)(actor)
        await self.world.deliver_all()

    async def publish(self, actor: Person) -> None:
        target = self.other(actor)
        post = await actor.publishes(f"hello @{target.handle}")
        self.posts.append((actor, post))
        self.model.tell(target.handle, ("mention", actor.handle, post.id))

    async def answer(self, actor: Person) -> None:
        author, parent = self.some_post()
        if author is None or not await self.does(lambda: actor.publishes("so", in_reply_to=parent)):
            return
        post = self.done
        assert isinstance(post, Post)
        self.posts.append((actor, post))
        self.model.tell(author.handle, ("reply", actor.handle, post.id))

    async def like(self, actor: Person) -> None:
        author, post = self.some_post()
        if author is not None and await self.does(lambda: self.acts.likes(actor, post)):
            self.model.likes.add((actor.handle, post.id))
            self.model.tell(author.handle, ("like", actor.handle, post.id))

    async def unlike(self, actor: Person) -> None:
        author, post = self.some_post()
        if author is not None:
            await self.does(lambda: self.acts.unlikes(actor, post))
            self.model.likes.discard((actor.handle, post.id))

    async def boost(self, actor: Person) -> None:
        author, post = self.some_post()
        if author is not None and await self.does(lambda: self.acts.boosts(actor, post)):
            if (actor.handle, post.id) not in self.model.boosts:
                self.model.tell(author.handle, ("boost", actor.handle, post.id))
            self.model.boosts.add((actor.handle, post.id))

    async def unboost(self, actor: Person) -> None:
        author, post = self.some_post()
        if author is not None:
            await self.does(lambda: self.acts.unboosts(actor, post))
            self.model.boosts.discard((actor.handle, post.id))

    async def follow(self, actor: Person) -> None:
        target = self.other(actor)
        pair = actor.handle, target.handle
        if await self.does(lambda: actor.follows(target)):
            if pair not in self.model.follows:
                self.model.forget(target.handle, ("follow", actor.handle, None))
            self.model.follows.add(pair)
            self.model.tell(target.handle, ("follow", actor.handle, None))

    async def unfollow(self, actor: Person) -> None:
        target = self.other(actor)
        await self.does(lambda: actor.unfollows(target))
        self.model.follows.discard((actor.handle, target.handle))

    async def delete(self, actor: Person) -> None:
        author, post = self.some_post()
        if author is actor:
            await actor.deletes(post)
            self.model.gone.add(post.id)

    async def mute(self, actor: Person) -> None:
        target = self.other(actor)
        pair = actor.handle, target.handle
        await (actor.unmutes(target) if pair in self.model.mutes else actor.mutes(target))
        self.model.mutes ^= {pair}

    async def block(self, actor: Person) -> None:
        target = self.other(actor)
        pair = actor.handle, target.handle
        if pair in self.model.blocks:
            await actor.unblocks(target)
            self.model.blocks -= {pair}
        elif await self.does(lambda: actor.blocks(target)):
            self.model.blocks |= {pair}
            self.model.follows -= {pair, (target.handle, actor.handle)}

    async def suspend(self, actor: Person) -> None:
        target = self.other(actor)
        if target.handle in self.model.suspended:
            await self.services.accounts.reinstate(account_id=target.id)
            self.model.suspended -= {target.handle}
        else:
            await self.services.accounts.suspend(account_id=target.id)
            self.model.suspended |= {target.handle}

    async def reads(self, actor: Person) -> None:
        page = await self.services.notifications.page(actor.id)
        if page.entries:
            at = self.random.randrange(len(page.entries))
            seen = [n for n in range(len(self.model.told[actor.handle])) if self.model.sees(actor.handle, n)]
            await self.services.notifications.mark_read(actor.id, page.entries[at].id)
            up_to = seen[::-1][at] + 1
            self.model.read[actor.handle] = max(self.model.read.get(actor.handle, 0), up_to)

    async def does(self, act: Callable[[], Awaitable[object]]) -> bool:
        """Return whether the action was allowed."""
        try:
            self.done = await act()
        except ApiError:
            return False
        return True

    def other(self, actor: Person) -> Person:
        return self.random.choice([person for person in self.people if person is not actor])

    def some_post(self) -> tuple[Person, Post] | tuple[None, None]:
        return self.random.choice(self.posts) if self.posts else (None, None)

    async def compare(self) -> None:
        for person in self.people:
            if person.handle in self.model.suspended:
                continue  # they read no notification
            page = await self.services.notifications.page(person.id, limit=100)
            seen = [
                (each.kind.name, each.author.handle, each.entry.shown.id if each.entry else None)
                for each in page.entries
            ]
            assert seen == self.model.seen(person.handle)
            assert await self.services.notifications.unread(person.id) == self.model.unread(person.handle)
            assert sum(not each.is_read for each in page.entries) == self.model.unread(person.handle)


@pytest.mark.parametrize("seed", mostly_nightly(range(5), 1))
async def test_unread_counts_equal_the_model(services: Services, world: World, seed: int) -> None:
    play = Play(world, await world.people("alice", "bob", "carol"), seed)
    for _ in range(STEPS):
        await play.step()
        await play.compare()
