"""One query over all partitions of the index: asked at once, merged newest first."""

from socialsite.ids import PostId
from timelines.search.repository import SEARCH_PARTITIONS, PostIndex, SearchTerms

MIN_IDS = 4


class PartitionMerge:
    """Ids come out in descending order, each once; none is skipped, however little a partition reads."""

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
        """Every post from this id on is decided: the cursor (exclusive) to go on from. 0: all of them are."""
        return max(self._highest_by_partition.values(), default=-1) + 1

    async def next_ids(self, wanted: int) -> list[PostId]:
        """The next ids, about `wanted`; perhaps none yet. One round trip a node."""
        most = max(MIN_IDS, -(-2 * wanted // SEARCH_PARTITIONS))
        asked = [
            (number, high)
            for number, high in self._highest_by_partition.items()
            if number not in self._ids_by_partition
        ]
        rounds = await self._index.find(self._search_terms, asked, most)
        for (number, _), answer in zip(asked, rounds, strict=True):
            if answer.ids:
                self._ids_by_partition[number] = answer.ids
            if answer.lowest_decided_id > self._search_terms.lowest_id:
                self._highest_by_partition[number] = answer.lowest_decided_id - 1
            else:
                del self._highest_by_partition[number]
        return self._take_decided()

    def _take_decided(self) -> list[PostId]:
        """What nothing can come before any more. Whoever holds back the others has none left: asked next."""
        edge, ids = self.lowest_decided_id, list[PostId]()
        for number, found in tuple(self._ids_by_partition.items()):
            ids += [post_id for post_id in found if post_id >= edge]
            rest = [post_id for post_id in found if post_id < edge]
            if rest:
                self._ids_by_partition[number] = rest
            else:
                del self._ids_by_partition[number]
        return sorted(ids, reverse=True)
