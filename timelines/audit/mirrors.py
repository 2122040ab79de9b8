"""Checks relations that are stored twice: follows, list members, blocks and follow requests.

An entry of `member` in a set of `owner` must agree with the entry of `owner` in a set of `member`. The repair of a
one-sided entry adds the other side with the same time, and never deletes the entry. Both sides change in one script, or
before the response is sent, so a one-sided entry is more probably the result of a lost key than of a crash.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from socialsite.store import Command, Key
from socialsite.store.pair_partitions import partition_of_pair
from timelines import keys
from timelines.audit.context import AuditContext
from timelines.audit.discrepancy import Discrepancy, Repair, detail_of
from timelines.audit.reader import AuditReader, Check
from timelines.ids import ListId

EDGES_PER_READ = 1_000

KeysOfPair = Callable[[int, int], tuple[Key, Key]]
Existing = Callable[[AuditReader, Iterable[int]], Awaitable[set[int]]]


async def existing_lists(reader: AuditReader, ids: Iterable[int]) -> set[int]:
    """Return the ids of lists that exist.

    A list exists until its deletion is complete, because the deletion removes its members. Afterwards its key has a
    TTL.
    """
    list_ids = list(dict.fromkeys(ids))
    ttls = await reader.gather(("PTTL", keys.account_list(ListId(list_id))) for list_id in list_ids)
    return {list_id for list_id, ttl_ms in zip(list_ids, ttls, strict=True) if ttl_ms == -1}


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a relation.

    `keys_of(owner, member)` are the key that contains the entry, and the key of the other side.
    """

    name: str
    keys_of: KeysOfPair
    existing_owners: Existing = AuditReader.existing_accounts
    existing_members: Existing = AuditReader.existing_accounts
    invalidate: Callable[[int, int], Awaitable[object]] | None = None
    """Invalidates the timelines that depend on the relation of (owner, member)."""

    @property
    def is_partitioned(self) -> bool:
        """True for follows and list members, whose sides have the same time, and whose keys depend on the pair."""
        return self.invalidate is not None


@dataclass(frozen=True, slots=True)
class Entry:
    key: Key
    owner: int
    member: int
    score: bytes
    mirror: Key


class MirrorChecks:
    def __init__(self, context: AuditContext) -> None:
        self._context = context
        partitions = context.config.follow_partitions
        homes, lists = context.homes.invalidate, context.list_timelines.invalidate

        def of_pair(own: Callable[[str, int], Key], other: Callable[[str, int], Key]) -> KeysOfPair:
            def keys_of(owner: int, member: int) -> tuple[Key, Key]:
                tag = f"p{partition_of_pair(owner, member, partitions)}"
                return own(tag, owner), other(tag, member)

            return keys_of

        def of_owner(own: Callable[[int], Key], other: Callable[[int], Key]) -> KeysOfPair:
            return lambda owner, member: (own(owner), other(member))

        def check(side: Side) -> Check:
            return partial(self._check, side)

        following, followers = of_pair(keys.following, keys.followers), of_pair(keys.followers, keys.following)
        self.following = check(Side("follow", following, invalidate=lambda owner, _: homes(owner)))
        self.followers = check(Side("follow", followers, invalidate=lambda _, member: homes(member)))
        members = of_pair(keys.list_members, keys.lists_with_account)
        listed = of_pair(keys.lists_with_account, keys.list_members)
        self.members = check(Side("member", members, existing_lists, invalidate=lambda owner, _: lists(owner)))
        of_listed = Side("member", listed, existing_members=existing_lists, invalidate=lambda _, id: lists(id))
        self.listed = check(of_listed)
        self.blocks = check(Side("block", of_owner(keys.blocks, keys.blocked_by)))
        self.blocked_by = check(Side("block", of_owner(keys.blocked_by, keys.blocks)))
        self.received_requests = check(Side("request", of_owner(keys.follow_requests, keys.sent_follow_requests)))
        self.sent_requests = check(Side("request", of_owner(keys.sent_follow_requests, keys.follow_requests)))

    async def _check(self, side: Side, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        entries: list[Entry] = []
        async for key, members in reader.pages_of_many(checked):
            owner = int(key.rpartition(":")[2]) if side.is_partitioned else int(key.tag)
            for member, score in members:
                if not member.isdigit() or (side.name == "follow" and int(member) == owner):
                    repair = self._changing(side, owner, member, ("ZREM", key, member))
                    yield Discrepancy(f"{side.name}_garbage", key, detail_of(member), repair)
                    continue
                right, mirror = side.keys_of(owner, int(member))
                if right == key:
                    entries.append(Entry(key, owner, int(member), score, mirror))
                else:
                    yield self._misplaced(side, Entry(key, owner, int(member), score, mirror), right)
            if len(entries) >= EDGES_PER_READ:
                async for found in self._compare(reader, entries, side):
                    yield found
                entries = []
        async for found in self._compare(reader, entries, side):
            yield found

    def _misplaced(self, side: Side, entry: Entry, right: Key) -> Discrepancy:
        """Return the discrepancy of an entry that belongs to the key `right`, in another partition."""
        mirror, member = entry.mirror, b"%d" % entry.member
        misplaced_mirror = Key(mirror.component, tag=entry.key.tag, name=mirror.rpartition("}:")[2])
        repair = self._changing(
            side, entry.owner, member,
            ("ZADD", right, "NX", entry.score, entry.member), ("ZADD", mirror, "NX", entry.score, entry.owner),
            ("ZREM", entry.key, entry.member), ("ZREM", misplaced_mirror, entry.owner),
        )  # fmt: skip
        return Discrepancy(f"{side.name}_misplaced", entry.key, detail_of(member), repair)

    async def _compare(self, reader: AuditReader, entries: Sequence[Entry], side: Side) -> AsyncIterator[Discrepancy]:
        scores = await reader.gather(("ZSCORE", entry.mirror, entry.owner) for entry in entries)
        owners = await side.existing_owners(reader, (entry.owner for entry in entries))
        members = await side.existing_members(reader, (entry.member for entry in entries))
        suspects: list[tuple[Entry, str, list[Command]]] = []
        for entry, score in zip(entries, scores, strict=True):
            kind, commands = "", list[Command]()
            if entry.owner not in owners or entry.member not in members:
                kind = "of_nobody"
                commands = [("ZREM", entry.key, entry.member), ("ZREM", entry.mirror, entry.owner)]
            elif score is None:
                kind, commands = "one_sided", [("ZADD", entry.mirror, "NX", entry.score, entry.owner)]
            elif score != entry.score and side.is_partitioned:
                kind, first = "of_two_times", min(score, entry.score, key=float)
                commands = [("ZADD", entry.key, first, entry.member), ("ZADD", entry.mirror, first, entry.owner)]
            if kind:
                suspects.append((entry, kind, commands))
        # An entry that changed since its side was read is no discrepancy.
        scores_now = await reader.gather(("ZSCORE", entry.key, entry.member) for entry, _, _ in suspects)
        for (entry, kind, commands), score in zip(suspects, scores_now, strict=True):
            if score == entry.score:
                repair = self._changing(side, entry.owner, b"%d" % entry.member, *commands)
                yield Discrepancy(f"{side.name}_{kind}", entry.key, str(entry.member), repair)

    def _changing(self, side: Side, owner: int, member: bytes, *commands: Command) -> Repair:
        """Return a repair that runs `commands` and, before and after, invalidates timelines that use the relation."""
        if side.invalidate is None:
            return self._context.run(*commands)
        invalidate = partial(side.invalidate, owner, int(member) if member.isdigit() else owner)

        async def repair() -> None:
            await invalidate()
            await self._context.store.gather(commands)
            await invalidate()

        return repair
