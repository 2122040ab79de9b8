"""One query over all partitions of the index: asked at once, merged newest first."""

from socialsite.ids import PostId
from timelines.search.repository import SEARCH_PARTITIONS, PostIndex, SearchTerms

MIN_IDS = 4


class PartitionMerge:
    """Ids come out in descending order, each once; none is skipped, however little a partition reads."""

    def __init__(self, index: PostIndex, sought: SearchTerms, highest: int) -> None:
        self._index = index
        self._sought = sought
        self._undone = {number: highest for number in range(SEARCH_PARTITIONS) if highest >= sought.lowest}
        self._found: dict[int, list[PostId]] = {}

    @property
    def ended(self) -> bool:
        return not self._undone and not self._found

    @property
    def edge(self) -> int:
        """Every post from this id on is decided: the cursor (exclusive) to go on from. 0: all of them are."""
        return max(self._undone.values(), default=-1) + 1

    async def next_ids(self, wanted: int) -> list[PostId]:
        """The next ids, about `wanted`; perhaps none yet. One round trip a node."""
        most = max(MIN_IDS, -(-2 * wanted // SEARCH_PARTITIONS))
        asked = [(number, high) for number, high in self._undone.items() if number not in self._found]
        rounds = await self._index.find(self._sought, asked, most)
        for (number, _), answer in zip(asked, rounds, strict=True):
            if answer.ids:
                self._found[number] = answer.ids
            if answer.edge > self._sought.lowest:
                self._undone[number] = answer.edge - 1
            else:
                del self._undone[number]
        return self._decided()

    def _decided(self) -> list[PostId]:
        """What nothing can come before any more. Whoever holds back the others has none left: asked next."""
        edge, ids = self.edge, list[PostId]()
        for number, found in tuple(self._found.items()):
            ids += [post_id for post_id in found if post_id >= edge]
            rest = [post_id for post_id in found if post_id < edge]
            if rest:
                self._found[number] = rest
            else:
                del self._found[number]
        return sorted(ids, reverse=True)
