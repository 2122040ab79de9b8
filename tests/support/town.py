"""A small site with every kind of stored data, for audits and backups."""

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any, Self

from socialsite.maintenance.scanning import scan_store
from socialsite.store import Key
from socialsite.store.pair_partitions import partition_of_pair
from tests.support.world import Person, World
from timelines import keys
from timelines.audit import Audit, AuditReport
from timelines.lists.account_list import AccountList
from timelines.posts.post import Post

PARTITIONS = 16


class SampleSite:
    """A small site with every kind of stored data, and methods to damage it."""

    def __init__(self, world: World, alice: Person, bob: Person, carol: Person) -> None:
        self.world, self.services = world, world.services
        self.alice, self.bob, self.carol = alice, bob, carol
        self.list: AccountList
        self.first: Post
        self.second: Post
        self.third: Post

    @classmethod
    async def build(cls, world: World) -> Self:
        alice, bob, carol = await world.people("alice", "bob", "carol")
        town = cls(world, alice, bob, carol)
        for one, other in ((alice, bob), (alice, carol), (bob, alice), (carol, alice)):
            await one.follows(other)
        town.list = await alice.makes_list(bob, title="Friends")
        town.first = await bob.publishes("hello", key="k1")
        await asyncio.sleep(0.002)  # two posts must not share a millisecond
        town.second = await carol.publishes("hello back", in_reply_to=town.first)
        await asyncio.sleep(0.002)
        town.third = await alice.publishes("all of you #many")
        await world.deliver_all()
        for person in (alice, bob, carol):
            await person.home()
        await world.services.reading.list_timeline(town.list.id, viewer_id=alice.id)
        return town

    @property
    def idempotency(self) -> Key:
        return keys.idempotency_record(self.bob.id, hashlib.sha256(b"k1").hexdigest()[:32])

    async def execute(self, *command: object) -> Any:
        (reply,) = await self.services.store.execute_all([command])
        return reply

    async def audit(self, **options: Any) -> AuditReport:
        return await Audit(self.services.audit_context, second_check_after_s=0.01).run(**options)

    async def repair_until_clean(self) -> None:
        """Audit and repair in up to three rounds: a repair may reveal further discrepancies."""
        for _ in range(3):
            await self.world.deliver_all()
            report = await self.audit(repair=True)
            if not report.discrepancies:
                break
        assert [str(finding) for finding in report.discrepancies] == []

    async def all_keys(self) -> list[Key]:
        return [key async for batch in scan_store(self.services.store) for key in batch]

    def edge(self, side: Callable[[str, int], Key], owner: Person | int, other: Person | int) -> Key:
        own = owner if isinstance(owner, int) else owner.id
        end = other if isinstance(other, int) else other.id
        return side(f"p{partition_of_pair(own, end, PARTITIONS)}", own)
