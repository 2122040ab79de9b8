"""What is asked of one side of pair edges, to share a round trip with whatever else is asked.

How it is sent is in edge_wires.py; the reads that take a round trip of their own are in edge_side.py.
"""

from collections.abc import Collection, Sequence
from itertools import chain, compress
from typing import NamedTuple

from socialsite.store.commands import Command, Reply
from socialsite.store.encoding import EncodedPipeline
from socialsite.store.key import Key
from socialsite.store.pair_partitions import partitions_of_pairs
from socialsite.store.read import Read
from socialsite.store.store import KeyDataShardedConnection
from timelines.graph.encoded_commands import (
    KeyOfSide,
    group_wires,
    made,
    scores_heads,
    scores_wire,
    sizes_wire,
    walk_wire,
)


class Groups(NamedTuple):
    """Ids by the number of the partition that holds their edges with one owner.

    Both sides of the owner are partitioned alike: one grouping serves both. `wires`: how each group is sent
    (`group_wires`), in the order of `members`.
    """

    members: dict[int, list[int]]
    wires: list[tuple[int, bytes, bytes]]


class EdgeQuestions:
    """Layout: one ZSET a partition, member = the other id, score = ms; `key` builds its name."""

    def __init__(self, pairs: KeyDataShardedConnection, key: KeyOfSide) -> None:
        self._pairs = pairs
        self._key = key

    @property
    def _tags(self) -> tuple[str, ...]:
        return self._pairs.layout.tags

    def keys(self, owner: int, first: int = 0) -> list[Key]:
        """The side's keys, from partition `first` on."""
        return [self._key(tag, owner) for tag in self._tags[first:]]

    def member_command(self, owner: int, id: int) -> Command:
        """Since when the side has one id; None: it has not."""
        (number,) = partitions_of_pairs(owner, (id,), self._pairs.count)
        return "ZSCORE", self._key(self._tags[number], owner), id

    def among_question(self, owner: int, ids: Collection[int]) -> Read[dict[int, int]]:
        """`among`, for a round trip that asks other things too."""
        return self.among_groups_question(owner, self.grouped(owner, ids))

    def among_groups_question(self, owner: int, groups: Groups) -> Read[dict[int, int]]:
        """As `among_question`, of ids that `grouped` has grouped, on this side of the owner or the other."""

        def understand(replies: Sequence[Reply]) -> dict[int, int]:
            members, scores = chain.from_iterable(groups.members.values()), list(chain.from_iterable(replies))
            return dict(zip(compress(members, scores), map(int, filter(None, scores)), strict=True))

        return Read(self._scores(owner, groups), understand)

    def held_question(self, owner: int, ids: Collection[int]) -> Read[set[int]]:
        """As `among_question`, without since when."""
        return self.held_groups_question(owner, self.grouped(owner, ids))

    def held_groups_question(self, owner: int, groups: Groups) -> Read[set[int]]:
        """As `held_question`, of ids that `grouped` has grouped."""

        def understand(replies: Sequence[Reply]) -> set[int]:
            return set(compress(chain.from_iterable(groups.members.values()), chain.from_iterable(replies)))

        return Read(self._scores(owner, groups), understand)

    def _scores(self, owner: int, groups: Groups) -> EncodedPipeline:
        """A ZMSCORE of each group. A score is never an empty text: what is missing alone counts as false."""
        tags = self._tags
        wire = scores_wire(scores_heads(self._key, tags, owner), groups.wires)

        def commands() -> list[Command]:
            return [("ZMSCORE", self._key(tags[number], owner), *group) for number, group in groups.members.items()]

        return EncodedPipeline(wire, len(groups.wires), commands)

    def grouped(self, owner: int, ids: Collection[int]) -> Groups:
        """For `among_groups_question`."""
        groups: dict[int, list[int]] = {}
        for id, number in zip(ids, partitions_of_pairs(owner, ids, self._pairs.count), strict=True):
            if number in groups:
                groups[number].append(id)
            else:
                groups[number] = [id]
        return Groups(groups, group_wires(groups))

    def ids_question(self, owner: int, at_most: int) -> Read[list[int]]:
        """`ids`, for a round trip that asks other things too; too seldom for its commands to be kept."""
        commands = [("ZRANGE", made(self._key, tag, owner), 0, at_most - 1) for tag in self._tags]
        return Read(commands, lambda replies: list(map(int, chain.from_iterable(replies)))[:at_most])

    def first_question(self, owner: int, each: int) -> Read[list[int]]:
        """The oldest ids of the side, at most `each` from every partition, one partition after another."""
        tags, last = self._tags, each - 1

        def commands() -> list[Command]:
            return [("ZRANGE", key, 0, last) for key in self.keys(owner)]

        def understand(replies: Sequence[Reply]) -> list[int]:
            return list(map(int, chain.from_iterable(replies)))

        return Read(EncodedPipeline(walk_wire(self._key, tags, owner, last), len(tags), commands), understand)

    def times_question(self, owner: int, at_most: int) -> Read[dict[int, int]]:
        """As `ids`, and since when (ms)."""
        tags, last = self._tags, at_most - 1

        def commands() -> list[Command]:
            return [("ZRANGE", key, 0, last, "WITHSCORES") for key in self.keys(owner)]

        def understand(replies: Sequence[Reply]) -> dict[int, int]:
            flat = list(chain.from_iterable(replies))[: 2 * at_most]
            return dict(zip(map(int, flat[::2]), map(int, flat[1::2]), strict=True))

        wire = walk_wire(self._key, tags, owner, last, True)
        return Read(EncodedPipeline(wire, len(tags), commands), understand)

    def count_question(self, owner: int, *, may_lag: bool = False) -> Read[int]:
        """How many edges the side has. `may_lag`: the answer may be a replica's."""
        tags = self._tags

        def commands() -> list[Command]:
            return [("ZCARD", key) for key in self.keys(owner)]

        return Read(EncodedPipeline(sizes_wire(self._key, tags, owner), len(tags), commands), sum, may_lag=may_lag)
