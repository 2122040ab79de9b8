"""One side of pair edges: for an id, the ids at the other ends, in all partitions.

The followers of an account are such a side, what it follows another, the members of a list and the lists that
hold an account two more. Reads only; edges.py writes both sides.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from socialsite.store.commands import Command, Reply, load_script
from socialsite.store.key import Key
from socialsite.store.read import Read
from timelines.graph.edge_reads import EdgeQuestions
from timelines.graph.follow import PassCursor
from timelines.graph.passes import read_under, shares_of, written_under

TIES_AFTER = load_script("ties_after.lua", __package__)


class Neighbour(NamedTuple):
    """The id at the other end of an edge, and the edge's time (Unix ms)."""

    at_ms: int
    id: int


class Pass(NamedTuple):
    """Neighbours in the order of partition, time, id; `next` is None after the last."""

    ids: list[int]
    next: PassCursor | None


Names = tuple[list[bytes], PassCursor | None]
"""As `Pass`, the ids in decimal digits."""


class EdgeList(EdgeQuestions):
    """Reads of a side: counts, pages, passes."""

    async def gather(self, commands: list[Command]) -> list[Reply]:
        return await self._pairs.gather(commands)

    async def ask(self, *questions: Read[Any]) -> list[Any]:
        """Questions about any sides, in one round trip a node."""
        return await self._pairs.read(*questions)

    async def count(self, owner: int) -> int:
        return int((await self.ask(self.count_question(owner)))[0])

    async def newest(self, owner: int, before: Neighbour | None, limit: int) -> list[Neighbour]:
        """Newest first, strictly older than `before`: every partition's page, merged (listing 10.14)."""
        keys = self.keys(owner)
        bound = f"({before.at_ms}" if before else "+inf"
        commands: list[Command] = [
            ("ZRANGE", key, bound, "-inf", "BYSCORE", "REV", "LIMIT", 0, limit, "WITHSCORES") for key in keys
        ]
        if before:
            beyond = ("down", before.at_ms, str(before.id), limit)
            commands += [TIES_AFTER.command((key,), beyond) for key in keys]
        replies = await self._pairs.gather(commands)
        found = [neighbour for reply in replies[: len(keys)] for neighbour in neighbours(reply)]
        if before:
            found += [Neighbour(before.at_ms, int(id)) for reply in replies[len(keys) :] for id in reply]
        found.sort(key=order, reverse=True)
        return found[:limit]

    async def next_pass(self, owner: int, cursor: PassCursor, limit: int) -> Pass:
        """Up to `limit` ids after `cursor`, through one partition after another."""
        names, behind = await self.names_pass(owner, cursor, limit)
        return Pass(list(map(int, names)), behind)

    async def names_pass(self, owner: int, cursor: PassCursor, limit: int) -> Names:
        """As `next_pass`; the ids stay as the server wrote them, and as keys name them: decimal digits.

        Two round trips: what is left of the cursor's partition together with the sizes of those behind it,
        then as many of these as the pass has room for. One over the limit is read, to know the end. Of the
        scores only the last one's is needed: to write all costs the server 0.3 us each. What is read of a
        partition, and the last one's score, are of one moment; where edges came or went so that this score
        does not fit, the next pass begins with the partition.
        """
        layout = self._pairs.layout
        cursor = read_under(layout, cursor)
        first, *rest = self.keys(owner, cursor.partition)
        newer_than = "ZRANGE", first, f"({cursor.at_ms}", "+inf", "BYSCORE", "LIMIT"
        ties, newer, end, *sizes = await self._pairs.gather(
            [
                TIES_AFTER.command((first,), ("up", cursor.at_ms, str(cursor.id), limit + 1)),
                (*newer_than, 0, limit + 1),
                (*newer_than, limit - 1, 1, "WITHSCORES"),
                *(("ZCARD", key) for key in rest),
            ]
        )
        room = limit - len(ties)
        if ties and 0 < room < len(newer):  # the ties made another one the last
            newer, end = await self._pairs.gather(
                [(*newer_than, 0, room + 1), (*newer_than, room - 1, 1, "WITHSCORES")]
            )
        names: list[bytes] = [*ties, *newer]
        if len(names) > limit:
            behind = _behind(cursor, names[limit - 1], end if room > 0 else None)
            return names[:limit], written_under(layout, behind)
        shares = shares_of(sizes, limit + 1 - len(names))
        more, next = await self._from_next(rest, shares, limit - len(names))
        if next is None:
            return names + more, None
        at, last = next
        partition = cursor.partition + 1 + at
        start = PassCursor.start_of(partition)
        behind = _behind(start, last[0], last) if last else start
        return names + more, written_under(layout, behind)

    async def _from_next(
        self, keys: Sequence[Key], shares: Sequence[int], room: int
    ) -> tuple[list[bytes], tuple[int, Sequence[bytes]] | None]:
        """At most `room` names of partitions that a pass comes to, and where the next one goes on.

        That is: which of them, and who was the last there, since when; nobody: at its beginning. All that a
        partition has is read as far as there is room, not only what it had when it was counted: an import
        brings edges of before, and these must not push others out.
        """
        rooms = [room + 1 - sum(shares[:at]) for at in range(len(shares))]
        reads: list[Command] = [("ZRANGE", key, 0, most - 1) for key, most in zip(keys, rooms, strict=False)]
        rank = rooms[-1] - 2 if rooms else -1
        if 0 <= rank < shares[-1]:
            reads.append(("ZRANGE", keys[len(shares) - 1], rank, rank, "WITHSCORES"))
        replies = await self._pairs.gather(reads)
        end = replies.pop() if len(replies) > len(shares) else []
        names: list[bytes] = []
        for at, (reply, most) in enumerate(zip(replies, rooms, strict=True)):
            if len(reply) >= most or len(names) + len(reply) > room:
                is_planned = at == len(shares) - 1 and end and reply[rank : rank + 1] == end[:1]
                if not is_planned or len(names) + rank + 1 > room:
                    return names or reply[:room], (at, ())  # never none: who removes what it reads would stop
                return names + reply[: rank + 1], (at, end)
            names += reply
        return names, (len(shares), ()) if len(shares) < len(keys) else None

    async def among(self, owner: int, ids: Collection[int]) -> dict[int, int]:
        """Those of `ids` that `owner` has an edge with, and since when; one ZMSCORE a partition."""
        question = self.among_question(owner, ids)
        return question.parse(await self._pairs.gather(question.commands))

    async def ids(self, owner: int, at_most: int) -> list[int]:
        """All ids of a side that has a cap; `at_most` bounds the read should the cap have been passed."""
        ids: list[int]
        (ids,) = await self.ask(self.ids_question(owner, at_most))
        return ids


def _behind(cursor: PassCursor, last: bytes, end: Sequence[bytes] | None) -> PassCursor:
    """The cursor behind `last`, whose time `end` tells (None: the cursor's own).

    Where `end` is somebody else, edges changed between two commands of a round trip: from the cursor again.
    """
    if end is None:
        return PassCursor(cursor.partition, cursor.at_ms, int(last))
    return PassCursor(cursor.partition, int(end[1]), int(last)) if end and end[0] == last else cursor


def neighbours(reply: list[bytes]) -> list[Neighbour]:
    """From (member, score, member, score, ...)."""
    return list(map(Neighbour, map(int, reply[1::2]), map(int, reply[::2])))


def order(neighbour: Neighbour) -> tuple[int, str]:
    """The server's own order of a sorted set: score, then bytes of the member."""
    return neighbour.at_ms, str(neighbour.id)
