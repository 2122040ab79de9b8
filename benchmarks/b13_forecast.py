"""How far off the memory forecast is: told after a third of the posts of an import, held against the rest.

The slashdot graph and a third of the ubuntu-irc posts are imported and weighed as by `manage.py memory`, then
the rest. The forecast is asked how many more posts bring the memory to where it came in the end: that many
came. "The dashboard" is the same question put to the panel of /ops/, which weighs far fewer keys. One round.
"""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.imported import GRAPH, POSTS, cut, import_graph, import_posts, one_server
from benchmarks.running import alone

if TYPE_CHECKING:
    from socialsite.maintenance.memory import MemoryReport
    from socialsite.services import Services

TOLD_AFTER = 1 / 3
RESERVE = 16 << 20
OFF = 10  # percent


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (graph,) = cut(GRAPH, folder, plan, 1)
        first, rest = cut(POSTS, folder, plan, TOLD_AFTER, 1 - TOLD_AFTER)
        async with one_server() as services:
            await import_graph(services, graph)
            told_after = await import_posts(services, first)
            exact, panel = await _looks(services)
            came = await import_posts(services, rest)
            return await _held(services, {"": exact, "the dashboard, ": panel}, told_after, came)


async def _looks(services: "Services") -> "tuple[MemoryReport, MemoryReport]":
    from socialsite.admin.memory import MemoryWatch
    from socialsite.maintenance.memory import MemoryMeter

    exact = await MemoryMeter(services.store).measure(services.clock.now_ms())
    return exact, (await MemoryWatch().look(services)).report


async def _held(
    services: "Services", reports: "dict[str, MemoryReport]", told_after: int, came: int
) -> list[Figure]:
    from socialsite.maintenance.forecast import Caps, forecast
    from socialsite.maintenance.memory import node_memory

    used = (await node_memory(services.store.nodes[0])).used
    figures: list[Figure] = []
    for name, report in reports.items():
        report.nodes = [replace(node, most=used + RESERVE) for node in report.nodes]
        told = forecast(report, Caps(services.config.home_cap), RESERVE).posts_left or 0
        what = f"{name}after {told_after:,} posts: {told:,} more were foretold, {came:,} came"
        figures.append(Figure(what, "% off", Samples.of(abs(told - came) * 100 / came), at_most(OFF)))
    return figures


if __name__ == "__main__":
    alone("B13", measure)
