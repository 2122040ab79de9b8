"""Merges the results of one query from all partitions of the index, newest first."""

from socialsite.ids import PostId
from timelines.search.repository import SEARCH_PARTITIONS, PostIndex, SearchTerms

MIN_IDS = 4


class PartitionMerge:
    """Returns ids in descending order, each once, and skips none even if a partition returns few."""

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
        """All ids from this one on are decided: the exclusive cursor of the next read. 0: all ids are."""
        return max(self._highest_by_partition.values(), default=-1) + 1

    async def next_ids(self, wanted: int) -> list[PostId]:
        """Return about `wanted` next ids, possibly none yet. One round trip per node."""
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
        """Take the ids that no unread id can precede. Partitions without ids left are read next."""
        edge, ids = self.lowest_decided_id, list[PostId]()
        for number, found in tuple(self._ids_by_partition.items()):
            ids += [post_id for post_id in found if post_id >= edge]
            rest = [post_id for post_id in found if post_id < edge]
            if rest:
                self._ids_by_partition[number] = rest
            else:
                del self._ids_by_partition[number]
        return sorted(ids, reverse=True)
