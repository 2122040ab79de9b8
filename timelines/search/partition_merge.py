"""Merges the results of one query from all partitions of the index, newest first."""

from socialsite.ids import PostId
from timelines.search.repository import SEARCH_PARTITIONS, PostIndex, SearchTerms

MIN_IDS = 4


class PartitionMerge:
    """Returns the matching ids of all partitions in descending order, each once and without gaps."""

    def __init__(self, index: PostIndex, sought: SearchTerms, highest: int) -> None:
        self._index = index
        self._search_terms = sought
        self._highest_by_partition = {
            number: highest for number in range(SEARCH_PARTITIONS) if highest >= sought.lowest_id
        }
        self._ids_by_partition: dict[int, list[PostId]] = {}

    @property
    def is_exhausted(self) -> bool:
        return not self._highest_by_partition and not self._ids_by_partition

    @property
    def lowest_decided_id(self) -> int:
        """All partitions were searched down to this id, which is the exclusive cursor of the next read.

        0 means that all posts were searched.
        """
        return max(self._highest_by_partition.values(), default=-1) + 1

    async def next_ids(self, wanted: int) -> list[PostId]:
        """Return about `wanted` more ids, in one round trip per node. It may return none although more ids follow."""
        most = max(MIN_IDS, -(-2 * wanted // SEARCH_PARTITIONS))
        reads = [
            (number, high)
            for number, high in self._highest_by_partition.items()
            if number not in self._ids_by_partition
        ]
        rounds = await self._index.find(self._search_terms, reads, most)
        for (number, _), answer in zip(reads, rounds, strict=True):
            if answer.ids:
                self._ids_by_partition[number] = answer.ids
            if answer.lowest_decided_id > self._search_terms.lowest_id:
                self._highest_by_partition[number] = answer.lowest_decided_id - 1
            else:
                del self._highest_by_partition[number]
        return self._take_decided()

    def _take_decided(self) -> list[PostId]:
        """Return the ids above all ids that are still unread.

        The next call of `next_ids` reads the partitions of which no read id is left.
        """
        edge, ids = self.lowest_decided_id, list[PostId]()
        for number, found in tuple(self._ids_by_partition.items()):
            ids += [post_id for post_id in found if post_id >= edge]
            rest = [post_id for post_id in found if post_id < edge]
            if rest:
                self._ids_by_partition[number] = rest
            else:
                del self._ids_by_partition[number]
        return sorted(ids, reverse=True)
