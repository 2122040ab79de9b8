"""Checks relations that are stored twice: follows, list members, blocks and follow requests.

An entry of `member` in a set of `owner` must agree with the entry of `owner` in a set of `member`. The repair of a
one-sided entry adds the other side with the same time, and never deletes the entry. Both sides change in one script, or
before the response is sent, so a one-sided entry is more probably the result of a lost key than of a crash.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from socialsite.batches import batches
from socialsite.store import Command, Key
from socialsite.store.pair_partitions import partition_of_pair, partitions_of_pairs
from timelines import keys
from timelines.audit.context import AuditContext
from timelines.audit.discrepancy import Discrepancy, Repair, detail_of
from timelines.audit.reader import AuditReader, Check, Page
from timelines.ids import ListId
from timelines.keys import EdgeKey

EDGES_PER_READ = 1_000

KeysOfPair = Callable[[int, int], tuple[Key, Key]]
Existing = Callable[[AuditReader, Iterable[int]], Awaitable[set[int]]]


async def existing_lists(reader: AuditReader, ids: Iterable[int]) -> set[int]:
    """Return the ids of lists that exist.

    A list exists until its deletion is complete, because the deletion removes its members. Afterwards its key has a
    TTL.
    """
    list_ids = list(dict.fromkeys(ids))
    ttls = await reader.execute_all(("PTTL", keys.account_list(ListId(list_id))) for list_id in list_ids)
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
    mirror: EdgeKey | None = None
    """The keys of the other side of follows and list members. They have the tags and the times of this side."""


@dataclass(slots=True)
class PairPage:
    """A page of a set of pair edges. `members` are the ids as numbers."""

    page: Page
    owner: int
    members: list[int]

    @property
    def key(self) -> Key:
        return self.page[0]

    def mirror_reads(self, mirror: EdgeKey) -> list[Command]:
        """Return for each entry the read of its other side."""
        key = mirror(self.key.tag, 0)
        return [("ZSCORE", key.with_last_part(id), self.owner) for id in self.members]


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
        self._partitions = partitions = context.config.follow_partitions
        homes, lists = context.homes.invalidate, context.list_timelines.invalidate

        def of_pair(own: EdgeKey, other: EdgeKey) -> KeysOfPair:
            def keys_of(owner: int, member: int) -> tuple[Key, Key]:
                tag = f"p{partition_of_pair(owner, member, partitions)}"
                return own(tag, owner), other(tag, member)

            return keys_of

        def of_owner(own: Callable[[int], Key], other: Callable[[int], Key]) -> KeysOfPair:
            return lambda owner, member: (own(owner), other(member))

        def check(side: Side) -> Check:
            return partial(self._check, side)

        following, followers = of_pair(keys.following, keys.followers), of_pair(keys.followers, keys.following)
        self.following = check(
            Side("follow", following, invalidate=lambda owner, _: homes(owner), mirror=keys.followers)
        )
        self.followers = check(
            Side("follow", followers, invalidate=lambda _, member: homes(member), mirror=keys.following)
        )
        members = of_pair(keys.list_members, keys.lists_with_account)
        listed = of_pair(keys.lists_with_account, keys.list_members)
        self.members = check(
            Side("member", members, existing_lists, invalidate=lambda owner, _: lists(owner),
                 mirror=keys.lists_with_account)
        )  # fmt: skip
        self.listed = check(
            Side("member", listed, existing_members=existing_lists, invalidate=lambda _, id: lists(id),
                 mirror=keys.list_members)
        )  # fmt: skip
        self.blocks = check(Side("block", of_owner(keys.blocks, keys.blocked_by)))
        self.blocked_by = check(Side("block", of_owner(keys.blocked_by, keys.blocks)))
        self.received_requests = check(Side("request", of_owner(keys.follow_requests, keys.sent_follow_requests)))
        self.sent_requests = check(Side("request", of_owner(keys.sent_follow_requests, keys.follow_requests)))

    async def _check(self, side: Side, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        async for pages in reader.rounds_of_pages(checked):
            suspects = pages if side.mirror is None else await self._find_suspects(reader, pages, side, side.mirror)
            entries: list[Entry] = []
            for key, values in suspects:
                owner = int(key.tag) if side.mirror is None else owner_of_edges(key)
                for member, score in zip(values[::2], values[1::2], strict=True):
                    if not member.isdigit() or (side.name == "follow" and int(member) == owner):
                        repair = self._changing(side, owner, member, ("ZREM", key, member))
                        yield Discrepancy(f"{side.name}_garbage", key, detail_of(member), repair)
                        continue
                    right, mirror = side.keys_of(owner, int(member))
                    entry = Entry(key, owner, int(member), score, mirror)
                    if right == key:
                        entries.append(entry)
                    else:
                        yield self._misplaced(side, entry, right)
            for batch in batches(entries, EDGES_PER_READ):
                async for found in self._compare(reader, batch, side):
                    yield found

    async def _find_suspects(
        self, reader: AuditReader, pages: Iterable[Page], side: Side, mirror: EdgeKey
    ) -> list[Page]:
        """Return the pages of pair edges that may have a discrepancy.

        Nearly all pages have none. So their values are compared as a whole, without an object for each entry.
        """
        suspects: list[Page] = []
        unread: list[PairPage] = []
        entry_count = 0
        for page in pages:
            pair_page = self._parse_page(page)
            if pair_page is None:
                suspects.append(page)
                continue
            unread.append(pair_page)
            entry_count += len(pair_page.members)
            if entry_count >= EDGES_PER_READ:
                suspects += await self._compare_pages(reader, unread, side, mirror)
                unread, entry_count = [], 0
        return suspects + await self._compare_pages(reader, unread, side, mirror)

    def _parse_page(self, page: Page) -> PairPage | None:
        """Return None if a member is no id, is the owner, or belongs to another partition."""
        key, values = page
        owner = owner_of_edges(key)
        if not all(map(bytes.isdigit, values[::2])):
            return None
        members = list(map(int, values[::2]))
        numbers = partitions_of_pairs(owner, members, self._partitions)
        if owner in members or numbers.count(int(key.tag[1:])) != len(members):
            return None
        return PairPage(page, owner, members)

    @staticmethod
    async def _compare_pages(reader: AuditReader, pages: Sequence[PairPage], side: Side, mirror: EdgeKey) -> list[Page]:
        """Return the pages whose other side differs, or which name an owner or member that does not exist."""
        member_ids = {id for page in pages for id in page.members}
        scores = await reader.read([read for page in pages for read in page.mirror_reads(mirror)])
        owners = await side.existing_owners(reader, (page.owner for page in pages))
        members = await side.existing_members(reader, member_ids)
        all_exist = member_ids <= members
        suspects: list[Page] = []
        start = 0
        for page in pages:
            end = start + len(page.members)
            if (
                scores[start:end] != page.page[1][1::2]
                or page.owner not in owners
                or not (all_exist or members.issuperset(page.members))
            ):
                suspects.append(page.page)
            start = end
        return suspects

    def _misplaced(self, side: Side, entry: Entry, right: Key) -> Discrepancy:
        """Return the discrepancy of an entry that belongs to the key `right`, in another partition."""
        mirror, member = entry.mirror, b"%d" % entry.member
        misplaced_mirror = mirror.with_tag(entry.key.tag)
        repair = self._changing(
            side, entry.owner, member,
            ("ZADD", right, "NX", entry.score, entry.member), ("ZADD", mirror, "NX", entry.score, entry.owner),
            ("ZREM", entry.key, entry.member), ("ZREM", misplaced_mirror, entry.owner),
        )  # fmt: skip
        return Discrepancy(f"{side.name}_misplaced", entry.key, detail_of(member), repair)

    async def _compare(self, reader: AuditReader, entries: Sequence[Entry], side: Side) -> AsyncIterator[Discrepancy]:
        scores = await reader.execute_all(("ZSCORE", entry.mirror, entry.owner) for entry in entries)
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
            elif score != entry.score and side.mirror is not None:
                kind, first = "of_two_times", min(score, entry.score, key=float)
                commands = [("ZADD", entry.key, first, entry.member), ("ZADD", entry.mirror, first, entry.owner)]
            if kind:
                suspects.append((entry, kind, commands))
        # An entry that changed since its side was read is no discrepancy.
        scores_now = await reader.execute_all((("ZSCORE", entry.key, entry.member) for entry, _, _ in suspects))
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
            await self._context.store.execute_all(commands)
            await invalidate()

        return repair


def owner_of_edges(key: Key) -> int:
    """Return the id at the end of a key of pair edges."""
    return int(key.rpartition(":")[2])
