"""Pair edges, both ways: follows between accounts, lists and their members (docs/reference/architecture.md).

A side that stands alone is completed, with the time it has: a lost key takes more edges along than were ever
half made, since both sides change in one script.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from socialsite.store import Command, Key
from socialsite.store.pair_partitions import partition_of_pair
from timelines import keys
from timelines.audit.discrepancy import Finding, Repair
from timelines.audit.members import first_pages, name_of
from timelines.audit.reader import ABSENT, Looking
from timelines.audit.repairs import Places
from timelines.ids import ListId

KeyOf = Callable[[str, int], Key]
Standing = Callable[[Looking, Iterable[int]], Awaitable[set[int]]]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of edges of a kind: whose keys these are, and who is at the other end."""

    kind: str
    own: KeyOf
    other: KeyOf
    owners: Standing
    members: Standing
    forget: Callable[[int, int], Awaitable[object]]  # (owner, member): timelines made of such an edge


@dataclass(frozen=True, slots=True)
class Edge:
    """As it stands at `key`; `mirror` is where its other side belongs."""

    key: Key
    owner: int
    member: int
    score: bytes
    mirror: Key


class EdgeChecks:
    def __init__(self, places: Places) -> None:
        self._places = places
        home, timelines = places.homes.invalidate, places.list_timelines
        follow = partial(Side, "follow", owners=accounts_standing, members=accounts_standing)
        self._following = follow(keys.following, keys.followers, forget=lambda owner, _: home(owner))
        self._followers = follow(keys.followers, keys.following, forget=lambda _, member: home(member))
        self._members = Side(
            "member", keys.list_members, keys.lists_with_account, lists_standing, accounts_standing,
            lambda owner, _: timelines.invalidate(owner),
        )  # fmt: skip
        self._listed = Side(
            "member", keys.lists_with_account, keys.list_members, accounts_standing, lists_standing,
            lambda _, member: timelines.invalidate(member),
        )  # fmt: skip

    async def following(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        return await self._check(look, found, self._following)

    async def followers(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        return await self._check(look, found, self._followers)

    async def members(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        return await self._check(look, found, self._members)

    async def listed(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        return await self._check(look, found, self._listed)

    async def _check(self, look: Looking, found: Sequence[Key], side: Side) -> list[Finding]:
        findings: list[Finding] = []
        edges: list[Edge] = []
        async for key, members in first_pages(look, list(found)):
            owner = int(key.rpartition(":")[2])
            for member, score in members:
                edge, misfit = self._edge(side, key, owner, member, score)
                if edge is not None:
                    edges.append(edge)
                findings += misfit
            if len(edges) >= 1000:
                findings += await self._mirrored(look, edges, side)
                edges = []
        return findings + await self._mirrored(look, edges, side)

    def _edge(self, side: Side, key: Key, owner: int, member: bytes, score: bytes) -> tuple[Edge | None, list[Finding]]:
        """The edge of a member; or what is wrong with it, whatever its other side says."""
        if not member.isdigit() or (side.kind == "follow" and int(member) == owner):
            repair = self._changing(side, owner, member, ("ZREM", key, member))
            return None, [Finding(f"{side.kind}_garbage", key, name_of(member), repair)]
        other = int(member)
        tag = f"p{partition_of_pair(owner, other, self._places.config.follow_partitions)}"
        if tag != key.tag:
            place = ("ZADD", side.own(tag, owner), "NX", score, other)
            mirror = ("ZADD", side.other(tag, other), "NX", score, owner)
            drops = ("ZREM", key, other), ("ZREM", side.other(key.tag, other), owner)
            repair = self._changing(side, owner, member, place, mirror, *drops)
            return None, [Finding(f"{side.kind}_misplaced", key, name_of(member), repair)]
        return Edge(key, owner, other, score, side.other(tag, other)), []

    async def _mirrored(self, look: Looking, edges: Sequence[Edge], side: Side) -> list[Finding]:
        scores = await look.gather(("ZSCORE", edge.mirror, edge.owner) for edge in edges)
        owners = await side.owners(look, (edge.owner for edge in edges))
        members = await side.members(look, (edge.member for edge in edges))
        findings: list[Finding] = []
        for edge, score in zip(edges, scores, strict=True):
            kind, commands = "", list[Command]()
            if edge.owner not in owners or edge.member not in members:
                kind = "of_nobody"
                commands = [("ZREM", edge.key, edge.member), ("ZREM", edge.mirror, edge.owner)]
            elif score is None:
                kind, commands = "one_sided", [("ZADD", edge.mirror, "NX", edge.score, edge.owner)]
            elif score != edge.score:
                first = min(score, edge.score, key=float)
                kind = "of_two_times"
                commands = [("ZADD", edge.key, first, edge.member), ("ZADD", edge.mirror, first, edge.owner)]
            if kind:
                repair = self._changing(side, edge.owner, b"%d" % edge.member, *commands)
                findings.append(Finding(f"{side.kind}_{kind}", edge.key, str(edge.member), repair))
        return findings

    def _changing(self, side: Side, owner: int, member: bytes, *commands: Command) -> Repair:
        """Sources change between two deletions of the timeline that is made of them."""

        async def repair() -> None:
            other = int(member) if member.isdigit() else owner
            await side.forget(owner, other)
            await self._places.store.gather(commands)
            await side.forget(owner, other)

        return repair


async def accounts_standing(look: Looking, ids: Iterable[int]) -> set[int]:
    """Edges of deleted accounts are the sweep's, not these checks'."""
    asked = set(ids)
    states = await look.states(asked)
    return {account_id for account_id in asked if states[account_id] != ABSENT}


async def lists_standing(look: Looking, ids: Iterable[int]) -> set[int]:
    """Those being deleted still stand here: their deletion takes the members along. The trace of a deleted
    one does not; it alone has a lifetime."""
    asked = list(dict.fromkeys(ids))
    lives = await look.gather(("PTTL", keys.account_list(ListId(list_id))) for list_id in asked)
    return {list_id for list_id, left_ms in zip(asked, lives, strict=True) if left_ms == -1}
