"""The error of a memory forecast that is made after a third of the posts of an import.

The slashdot graph and a third of the ubuntu-irc posts are imported and measured as by `manage.py memory`, then
the rest. The forecast gives the number of posts until the final memory usage; it is compared with the number that
was imported. "The dashboard" is the same forecast from the panel of /ops/, which samples far fewer keys. One round.
"""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.imported import GRAPH, POSTS, import_graph, import_posts, open_services_on_one_server, split_file

if TYPE_CHECKING:
    from socialsite.container import Services
    from socialsite.maintenance.memory import MemoryReport

FORECAST_AFTER_SHARE = 1 / 3
RESERVE_BYTES = 16 << 20
MAX_ERROR_PERCENT = 10


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (graph,) = split_file(GRAPH, folder, plan, 1)
        first, rest = split_file(POSTS, folder, plan, FORECAST_AFTER_SHARE, 1 - FORECAST_AFTER_SHARE)
        async with open_services_on_one_server() as services:
            await import_graph(services, graph)
            told_after = await import_posts(services, first)
            exact, panel = await _memory_reports(services)
            came = await import_posts(services, rest)
            return await _compare_forecast(services, {"": exact, "the dashboard, ": panel}, told_after, came)


async def _memory_reports(services: "Services") -> "tuple[MemoryReport, MemoryReport]":
    from socialsite.admin.memory import take_snapshot
    from socialsite.maintenance.memory import MemoryMeter

    exact = await MemoryMeter(services.store).measure(services.clock.now_ms())
    return exact, (await take_snapshot(services)).report


async def _compare_forecast(
    services: "Services", reports: "dict[str, MemoryReport]", told_after: int, came: int
) -> list[Figure]:
    from socialsite.maintenance.memory import make_forecast, read_node_memory

    used = (await read_node_memory(services.store.nodes[0])).used
    figures: list[Figure] = []
    for name, report in reports.items():
        report.nodes = [replace(node, most=used + RESERVE_BYTES) for node in report.nodes]
        forecast = make_forecast(report, services.config.home_cap, RESERVE_BYTES).posts_left or 0
        what = f"{name}after {told_after:,} posts: {forecast:,} more were foretold, {came:,} came"
        figures.append(Figure(what, "% off", Samples.of(abs(forecast - came) * 100 / came), at_most(MAX_ERROR_PERCENT)))
    return figures
