"""Alice's lists: few with few members, or of random accounts that reply to each other."""

import random
from collections.abc import Awaitable, Callable
from typing import Unpack

from socialsite.ids import AccountId, PostId
from tests.support.world import Person, World, ids_on
from timelines.ids import ListId
from timelines.lists.account_list import AccountList
from timelines.lists.service import ListService
from timelines.pages.page import PagePart, TimelinePage
from timelines.posts.post import Post

ALICE, BOB, CAROL = map(AccountId, (1, 2, 3))

LISTS_CAP, MEMBERS_CAP = 3, 5


async def add_member(service: ListService, list_id: ListId, account_id: int) -> bool:
    return await service.add_member(owner_id=ALICE, list_id=list_id, account_id=AccountId(account_id), now_ms=1000)


PageReader = Callable[..., Awaitable[TimelinePage]]


async def read_both_directions(read: PageReader) -> list[PostId]:
    """Read every page downward and upward; both directions must give the same ids."""
    down: list[PostId] = []
    page = await read(limit=3)
    down += ids_on(page)
    while page.next_before is not None:
        assert len(page.entries) == 3, "a page is full unless the timeline ends"
        page = await read(before=page.next_before, limit=3)
        down += ids_on(page)
    up: list[PostId] = []
    after: int | None = 0
    while after is not None:
        page = await read(after=after, limit=3)
        up = ids_on(page) + up
        after = page.previous_after
    assert up == down
    return down


class ListScenario:
    """Alice's lists of random accounts that reply to each other."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.services = world, world.services
        self.chance = random.Random(seed)
        self.people: list[Person] = []
        self.posts: list[Post] = []
        self.lists: list[AccountList] = []
        self.members: dict[ListId, set[AccountId]] = {}
        self.followed: set[AccountId] = set()

    @property
    def alice(self) -> Person:
        return self.people[0]

    async def build(self) -> "ListScenario":
        self.people = await self.world.people(*(f"p{number}" for number in range(6)))
        for person in self.people[1:]:
            if self.chance.random() < 0.6:
                await self.alice.follows(person)
                self.followed.add(person.id)
        for number in range(3):
            new_list = await self.make_list(f"list {number}")
            self.members[new_list.id] = set()
            for person in self.chance.sample(self.people, self.chance.randrange(1, 5)):
                await self.add_member(new_list, person.id)
        await self.publish_posts(30)
        return self

    async def make_list(self, title: str, operation: str | None = None, *parts: ListId) -> AccountList:
        new_list = await self.services.lists.create(
            owner_id=self.alice.id, title=title, now_ms=self._now_ms, operation=operation, parts=parts
        )
        self.lists.append(new_list)
        return new_list

    async def add_member(self, made: AccountList, account_id: AccountId) -> None:
        await self.services.lists.add_member(
            owner_id=self.alice.id, list_id=made.id, account_id=account_id, now_ms=self._now_ms
        )
        self.members[made.id].add(account_id)

    async def remove_member(self, made: AccountList, account_id: AccountId) -> None:
        await self.services.lists.remove_member(owner_id=self.alice.id, list_id=made.id, account_id=account_id)
        self.members[made.id].discard(account_id)

    async def edit_list(self, made: AccountList, **changes: object) -> AccountList:
        edited: AccountList = await self.services.lists.edit(
            owner_id=self.alice.id,
            list_id=made.id,
            **changes,  # type: ignore[arg-type]
        )
        return edited

    async def publish_posts(self, count: int) -> None:
        for _ in range(count):
            parent = self.chance.choice(self.posts) if self.posts and self.chance.random() < 0.5 else None
            self.posts.append(await self.chance.choice(self.people).publishes("words", in_reply_to=parent))
        await self.world.deliver_all()

    async def list_post_ids(self, made: AccountList) -> list[PostId]:
        async def read(**cut: Unpack[PagePart]) -> TimelinePage:
            return await self.services.lists.read_timeline(made.id, viewer_id=self.alice.id, **cut)

        return await read_both_directions(read)

    async def home_post_ids(self) -> list[PostId]:
        return await read_both_directions(self.alice.home)

    def expected_post_ids(self, members: set[AccountId], replies: str = "all") -> list[PostId]:
        return sorted(
            (post.id for post in self.posts if post.author_id in members and self._is_expected(post, members, replies)),
            reverse=True,
        )

    def _is_expected(self, post: Post, members: set[AccountId], replies: str) -> bool:
        answered = post.reply_to_author_id
        if post.in_reply_to is None or answered in (post.author_id, self.alice.id) or replies == "all":
            return True
        return answered in {"members": members, "followed": self.followed, "none": set()}[replies]

    @property
    def _now_ms(self) -> int:
        return self.services.clock.now_ms()
