"""One side of pair edges: for an id, the ids at the other ends, in all partitions.

The followers of an account are such a side, what it follows another, the members of a list and the lists that
hold an account two more. Reads only; edges.py writes both sides.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from socialsite.store.key import Key
from socialsite.store.node import Reply
from socialsite.store.question import Question
from socialsite.store.scripts import Command, load
from timelines.domain.follow import PassCursor
from timelines.repositories.edge_questions import EdgeQuestions
from timelines.repositories.passes import Found, read_under, shares_of, written_under

TIES_AFTER = load("ties_after.lua", __package__)


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


class EdgeSide(EdgeQuestions):
    """Reads of a side: counts, pages, passes."""

    async def gather(self, commands: list[Command]) -> list[Reply]:
        return await self._pairs.gather(commands)

    async def ask(self, *questions: Question[Any]) -> list[Any]:
        """Questions about any sides, in one round trip a node."""
        return await self._pairs.ask(*questions)

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
        then exactly as many of these as the pass has room for. One over the limit is read, to know the end.
        Of the scores only the last one's is needed: to write all costs the server 0.3 us each.
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
        found = Found([*ties, *newer], [(cursor.partition, len(ties) + len(newer))])
        shares = shares_of(sizes, limit + 1 - len(found.members))
        expected = len(found.members) + sum(shares)
        reads: list[Command] = [  # never 0..-1, which is all
            ("ZRANGE", key, 0, max(share - 1, 0)) for key, share in zip(rest, shares, strict=False)
        ]
        rank = limit - len(found.members) - sum(shares[:-1]) - 1
        if shares and 0 <= rank < shares[-1]:
            reads.append(("ZRANGE", rest[len(shares) - 1], rank, rank, "WITHSCORES"))
        replies = await self._pairs.gather(reads)
        if len(replies) > len(shares):
            end = replies.pop()
        for partition, reply in enumerate(replies, start=cursor.partition + 1):
            found.extend(partition, reply)
        # Fewer may have come than were counted, where edges went meanwhile: the count decides about the end.
        more = max(expected, len(found.members)) > limit
        names = found.members[:limit]
        keys = dict(enumerate((first, *rest), start=cursor.partition))  # the layout may change meanwhile
        behind = await self._behind(keys, cursor, found, len(names), end, len(ties)) if more else None
        return names, behind and written_under(layout, behind)

    async def _behind(
        self,
        keys: Mapping[int, Key],
        cursor: PassCursor,
        found: Found,
        count: int,
        end: Sequence[bytes],
        ties: int,
    ) -> PassCursor:
        """The cursor behind the first `count` found; `end`: who should be the last, and since when.

        `keys`: of the partitions that were read, by number.
        """
        if not count:
            return cursor
        partition, start = found.place_of(count - 1)
        last = found.members[count - 1]
        if count <= ties:
            return PassCursor(partition, cursor.at_ms, int(last))
        if end and end[0] == last:
            return PassCursor(partition, int(end[1]), int(last))
        key, place = keys[partition], count - 1 - start
        if partition == cursor.partition and ties:
            window = key, f"({cursor.at_ms}", "+inf", "BYSCORE", "LIMIT", place - ties, 1
            (again,) = await self._pairs.gather([("ZRANGE", *window, "WITHSCORES")])
            if again and again[0] == last:
                return PassCursor(partition, int(again[1]), int(last))
        # Edges went between the reads: the last still there. Who went and came back is newer than `end`,
        # and a cursor there would pass others by.
        members = found.members[start:count]
        (scores,) = await self._pairs.gather([("ZMSCORE", key, *members)])
        for member, score in zip(reversed(members), reversed(scores), strict=True):
            if score is not None and (not end or int(score) <= int(end[1])):
                return PassCursor(partition, int(score), int(member))
        return cursor if partition == cursor.partition else PassCursor.start_of(partition)

    async def among(self, owner: int, ids: Collection[int]) -> dict[int, int]:
        """Those of `ids` that `owner` has an edge with, and since when; one ZMSCORE a partition."""
        question = self.among_question(owner, ids)
        return question.understand(await self._pairs.gather(question.commands))

    async def ids(self, owner: int, at_most: int) -> list[int]:
        """All ids of a side that has a cap; `at_most` bounds the read should the cap have been passed."""
        ids: list[int]
        (ids,) = await self.ask(self.ids_question(owner, at_most))
        return ids


def neighbours(reply: list[bytes]) -> list[Neighbour]:
    """From (member, score, member, score, ...)."""
    return list(map(Neighbour, map(int, reply[1::2]), map(int, reply[::2])))


def order(neighbour: Neighbour) -> tuple[int, str]:
    """The server's own order of a sorted set: score, then bytes of the member."""
    return neighbour.at_ms, str(neighbour.id)
