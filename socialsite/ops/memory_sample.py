"""Where the memory of a large site goes, from a bounded number of keys a look.

Random keys tell how many keys each family has and what a usual one weighs. A key of a megabyte is not usual:
it counts for itself alone, by its own weight, and is remembered. Since random keys would hardly ever meet it,
each look also goes on with a walk over all keys, a slice at a time, that looks for nothing but such keys.
"""

from collections.abc import Sequence

from socialsite.ids import ms_of
from socialsite.operations.families import family_of
from socialsite.operations.forecast import UNWEIGHED_BYTES, table_bytes
from socialsite.operations.memory import LARGE_BYTES, POST_FAMILY, FamilyMemory, MemoryReport, NodeMemory
from socialsite.operations.scanning import keys_of
from socialsite.store import Key, Node

SAMPLE = 5_000
AT_ONCE = 500  # commands; pages go on between two such rounds
LARGE_KEPT = 100
ELEMENTS_WEIGHED = 100  # of a large key, in place of the server's usual 5
DAY_MS = 86_400_000

Weighed = list[tuple[Key, int]]


class MemorySample:
    """Remembers between two looks how far the walk is, and the large keys it met."""

    def __init__(self, size: int = SAMPLE) -> None:
        self.size = size
        self._cursors: dict[str, bytes] = {}
        self._large: dict[str, dict[Key, int]] = {}

    async def report(self, nodes: Sequence[Node], facts: list[NodeMemory], now_ms: int) -> MemoryReport:
        report, total = MemoryReport(nodes=facts), max(1, sum(fact.keys for fact in facts))
        for node, fact in zip(nodes, facts, strict=True):
            picked = await self._picked(node, self.size * fact.keys // total)
            passed = await self._passed(node, self.size * fact.keys // total)
            large = await self._weigh_large(node, [*picked, *passed])
            usual = [(key, weight) for key, weight in picked if weight < LARGE_BYTES]
            stands_for = (fact.keys - len(large)) / max(1, len(usual))
            for key, weight in usual:
                _count(report, key, weight, stands_for, now_ms)
            for key, weight in large.items():
                family = report.families.setdefault(family_of(key), FamilyMemory())
                family.keys, family.large, family.large_bytes = (
                    family.keys + 1, family.large + 1, family.large_bytes + weight,
                )  # fmt: skip
        return report

    @staticmethod
    async def _picked(node: Node, count: int) -> Weighed:
        """Random keys."""
        weighed: Weighed = []
        for start in range(0, count, AT_ONCE):
            found = await node.pipeline([("RANDOMKEY",)] * min(AT_ONCE, count - start))
            weighed += await _weights(node, keys_of([key for key in found if key is not None]))
        return weighed

    async def _passed(self, node: Node, count: int) -> Weighed:
        """The next keys of the walk."""
        weighed, met, name = Weighed(), 0, str(node.address)
        while met < count:
            cursor, found = await node.execute("SCAN", self._cursors.get(name, b"0"), "COUNT", AT_ONCE)
            self._cursors[name] = cursor
            weighed += await _weights(node, keys_of(found))
            met += max(1, len(found))
            if cursor == b"0":
                break
        return weighed

    async def _weigh_large(self, node: Node, weighed: Weighed) -> dict[Key, int]:
        """The largest keys of the node that are known, as they are now."""
        known = self._large.get(str(node.address), {})
        met = known | {key: weight for key, weight in weighed if weight >= LARGE_BYTES}
        now = await _weights(node, list(met), "SAMPLES", ELEMENTS_WEIGHED)
        largest = sorted(((weight, key) for key, weight in now if weight >= LARGE_BYTES), reverse=True)
        kept = self._large[str(node.address)] = {key: weight for weight, key in largest[:LARGE_KEPT]}
        return kept


async def _weights(node: Node, keys: Sequence[Key], *how: object) -> Weighed:
    """Without those that went meanwhile."""
    found = await node.pipeline([("MEMORY", "USAGE", key, *how) for key in keys])
    return [(key, int(weight)) for key, weight in zip(keys, found, strict=True) if weight is not None]


def _count(report: MemoryReport, key: Key, weight: int, stands_for: float, now_ms: int) -> None:
    """`stands_for`: how many keys a picked one speaks for."""
    name = family_of(key)
    family = report.families.setdefault(name, FamilyMemory())
    family.weighed += 1
    family.weight += weight
    family.keys = round(family.weighed * stands_for)
    if name == POST_FAMILY:
        age = max(0, now_ms - ms_of(int(key.tag))) // DAY_MS
        report.posts_by_day[age] += round(stands_for)


def unseen_bytes(report: MemoryReport) -> int:
    """What the servers use beyond what was met: large keys that the walk has not come to, and buffers."""
    tables = sum(table_bytes(node.keys) + UNWEIGHED_BYTES * node.keys for node in report.nodes)
    return max(0, sum(node.used - node.bare for node in report.nodes) - tables - report.bytes)
