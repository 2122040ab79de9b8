"""A small site with every kind of stored data, and the damage in it that an audit must detect."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, Self

from accounts import keys as account_keys
from socialsite.ids import AccountId
from socialsite.maintenance.scanning import scan_store
from socialsite.store import Key
from socialsite.store.pair_partitions import partition_of_pair
from tests.support.world import Person, World
from timelines import keys
from timelines.audit import Audit, AuditReport
from timelines.author_timelines.hashtag_timelines import hashtag_key
from timelines.ids import ListId
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
        await world.services.lists.read_timeline(town.list.id, viewer_id=alice.id)
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


Damage = Callable[[SampleSite], Awaitable[object]]

EDGE_TIME_MS = 1_700_000_000_000


async def _unknown_account_follows(town: SampleSite) -> None:
    await town.services.repositories.follows._edges.add(AccountId(3), AccountId(999), EDGE_TIME_MS)
    await town.execute("SET", account_keys.account_ids(), 1000)


async def _misplaced_edge(town: SampleSite) -> None:
    right = town.edge(keys.following, town.alice, town.bob)
    wrong = keys.following("p0" if right.tag != "p0" else "p1", town.alice.id)
    await town.execute("ZADD", wrong, EDGE_TIME_MS, town.bob.id)


async def _reversed_home(town: SampleSite) -> None:
    key = keys.home_timeline(town.alice.id)
    early = town.first.id - (60_000 << 12)
    await town.execute("DEL", key)
    await town.execute("RPUSH", key, early, town.third.id, town.second.id, town.first.id, "-0")
    await town.execute("PEXPIRE", key, 86_400_000)


async def _delete_handle(town: SampleSite) -> None:
    await town.execute("DEL", account_keys.handle("carol"))
    await town.execute("HSET", account_keys.account(town.carol.id), "created_ms", 5)


DAMAGE_BY_NAME: dict[str, Damage] = {
    "follow_one_sided": lambda town: town.execute("DEL", town.edge(keys.followers, town.bob, town.alice)),
    "follow_of_two_times": lambda town: town.execute(
        "ZADD", town.edge(keys.followers, town.bob, town.alice), EDGE_TIME_MS, town.alice.id
    ),
    "follow_misplaced": _misplaced_edge,
    "follow_of_nobody": _unknown_account_follows,
    "follow_garbage": lambda town: town.execute("ZADD", keys.following("p3", town.bob.id), 5, "rubbish"),
    "member_one_sided": lambda town: town.execute(
        "ZREM", town.edge(keys.lists_with_account, town.bob, town.list.id), town.list.id
    ),
    "member_of_nobody": lambda town: town.services.repositories.members.add(ListId(town.list.id + 7), town.bob.id, 5),
    "account_half": lambda town: town.execute("HDEL", account_keys.account(town.carol.id), "state", "bio"),
    "account_without_handle": _delete_handle,
    "handle_without_account": lambda town: town.execute("SET", account_keys.handle("nobody_here"), 77_000),
    "handle_of_nobody": lambda town: town.execute("SET", account_keys.handle("second_name"), town.bob.id),
    "handle_of_another": lambda town: town.execute("HSET", account_keys.account(town.carol.id), "handle", "bob"),
    "account_counter_low": lambda town: town.execute("SET", account_keys.account_ids(), 1),
    "account_unswept": lambda town: town.execute("HSET", account_keys.account(town.carol.id), "state", "deleted"),
    "profile_of_nothing": lambda town: town.execute("ZADD", keys.author_timeline(town.bob.id), 12345, 12345),
    "profile_of_another": lambda town: town.execute(
        "ZADD", keys.author_timeline(town.bob.id), town.third.id, town.third.id
    ),
    "profile_misplaced": lambda town: town.execute("ZADD", keys.author_timeline(town.bob.id), 5, town.first.id),
    "post_unprofiled": lambda town: town.execute("ZREM", keys.author_timeline(town.bob.id), town.first.id),
    "post_unreadable": lambda town: town.execute("SET", keys.post(town.third.id), b"\xc1 nothing"),
    "post_expires": lambda town: town.execute("EXPIRE", keys.post(town.third.id), 1000),
    "claim_eternal": lambda town: town.execute("SET", keys.post(4096), "pending"),
    "versions_of_nothing": lambda town: town.execute("RPUSH", keys.post_versions(12345), b"a former version"),
    "reply_of_nothing": lambda town: town.execute("ZADD", keys.replies(town.first.id), 777, 777),
    "reply_unlinked": lambda town: town.execute("DEL", keys.replies(town.first.id)),
    "idempotency_garbage": lambda town: town.execute(
        "SET", keys.idempotency_record(town.bob.id, "00ff"), "rubbish", "EX", 100
    ),
    "idempotency_eternal": lambda town: town.execute("PERSIST", town.idempotency),
    "session_of_nobody": lambda town: town.execute(
        "SET", account_keys.session(AccountId(500), "a" * 64), "x", "EX", 100
    ),
    "session_unreadable": lambda town: town.execute("SET", account_keys.session(town.bob.id, "b" * 64), "x", "EX", 100),
    "list_gone": lambda town: town.execute("ZADD", keys.list_index(town.bob.id), town.list.id, town.list.id),
    "list_unindexed": lambda town: town.execute("DEL", keys.list_index(town.alice.id)),
    "list_expires": lambda town: town.execute("EXPIRE", keys.account_list(town.list.id), 1000),
    "list_counter_low": lambda town: town.execute("DEL", keys.list_id_counter()),
    "home_incomplete": lambda town: town.execute("LREM", keys.home_timeline(town.alice.id), 0, town.second.id),
    "home_of_strangers": lambda town: town.execute("LPUSH", keys.home_timeline(town.bob.id), town.second.id),
    "home_out_of_order": _reversed_home,
    "home_without_floor": lambda town: town.execute("RPOP", keys.home_timeline(town.bob.id)),
    "home_eternal": lambda town: town.execute("PERSIST", keys.home_timeline(town.bob.id)),
    "list_timeline_incomplete": lambda town: town.execute("LPOP", keys.list_timeline(town.list.id)),
    "tag_of_nothing": lambda town: town.execute("ZADD", hashtag_key("many"), town.first.id, town.first.id),
    "tag_misplaced": lambda town: town.execute("ZADD", hashtag_key("many"), 5, town.third.id),
    "tag_incomplete": lambda town: town.execute("DEL", hashtag_key("many")),
    "public_of_nothing": lambda town: town.execute("ZADD", keys.public_timeline(), 999, 999),
    "public_incomplete": lambda town: town.execute("ZREM", keys.public_timeline(), town.first.id),
    "key_of_wrong_type": lambda town: town.services.store.execute_all(
        [("DEL", keys.home_timeline(town.bob.id)), ("SET", keys.home_timeline(town.bob.id), "no list")]
    ),
}
