"""`python -m benchmarks scale`: write the needs of 10^6, 10^8 and 10^9 accounts into docs/reference/scale.md.

Unit costs are read from docs/reference/benchmarks.json (benchmarks/needs.py). Everything else is an assumption
with a parameter.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TypeVar

from benchmarks.busiest_day import Habits
from benchmarks.figures import DataNotAvailable, format_short
from benchmarks.needs import GB, UNITS, CapacityNeed, DeploymentOptions, need_of
from benchmarks.pages import DOCS, replace_section, table
from benchmarks.population import FollowerDistribution

PAGE = DOCS / "scale.md"
BEGIN = "<!-- python -m benchmarks scale -->"
SIZES = (10**6, 10**8, 10**9)
ALL_GRAPHS = ("verizon", "hershey", "slashdot", "higgs")

Cell = TypeVar("Cell")
Lines = Mapping[str, Callable[[CapacityNeed], Cell]]
"""The cell of each row, computed from a need."""


def rows_of(needs: Sequence[CapacityNeed]) -> str:
    deliveries_s = UNITS["deliveries/s of a worker"].value
    lines: Lines[str] = {
        "posts on the busiest day": lambda n: format_whole(n.day.total("posts")),
        "deliveries of a post, mean": lambda n: format_short(n.day.total("deliveries") / n.day.total("posts")),
        "posts/s in the worst minute": lambda n: format_whole(n.day.peak("posts")),
        "deliveries/s in the worst minute": lambda n: format_whole(n.day.peak("deliveries")),
        "pages/s in the worst minute": lambda n: format_whole(n.day.peak("pages") + n.day.peak("visits")),
        "data": lambda n: f"{format_short(n.memory / GB)} GB",
        "memory, with room and a replica": lambda n: (
            f"{format_short(n.memory * n.means.spare * n.means.copies / GB)} GB"
        ),
        "masters (by work alone)": lambda n: f"{format_whole(n.nodes)} ({format_whole(n.nodes_by_work)})",
        "web processes, a core each": lambda n: format_whole(n.web_cores),
        "workers, a core each": lambda n: format_whole(n.workers),
        "with a third of the workers, the last delivery waits": lambda n: f"{format_short(n.backlog_s)} s",
        "followers of the most followed who posted": lambda n: format_whole(n.day.largest_post),
        "their post reaches the last of them after": lambda n: f"{format_short(n.day.largest_post / deliveries_s)} s",
        "euro a month (for 1,000 accounts)": lambda n: (
            f"{format_whole(n.monthly_price)} ({format_short(n.monthly_price / n.accounts * 1000)})"
        ),
    }
    head = ["", *(f"{need.accounts:,} accounts" for need in needs)]
    return table([head, *([what, *map(tell, needs)] for what, tell in lines.items())])


def keys_of(needs: Sequence[CapacityNeed]) -> str:
    """Return a table of keys that are on one node, with their share of its core in the worst minute."""
    unit = {name: each.value for name, each in UNITS.items()}
    lines: Lines[float] = {
        "outbox: all jobs, one stream": lambda n: n.day.peak("jobs") * unit["server us a job"],
        "public timeline: written by every post": lambda n: n.day.peak("posts") * PUBLIC_WRITE_US,
        "public timeline: read by half of the visits": lambda n: n.day.peak("visits") / 2 * PUBLIC_READ_US,
        "presence: each pass asks each web process's set (spread over all nodes)": lambda n: (
            n.web_cores * (n.day.peak("jobs") * PRESENCE_US + n.day.peak("deliveries") * PRESENT_US) / n.nodes
        ),
    }
    head = ["", *(f"{need.accounts:,} accounts" for need in needs)]
    rows = [[what, *(f"{100 * tell(need) / 1e6:,.3g} %" for need in needs)] for what, tell in lines.items()]
    return table([head, *rows])


PUBLIC_WRITE_US, PUBLIC_READ_US, PRESENCE_US, PRESENT_US = 12.0, 15.0, 4.0, 0.05
"""Assumed us: ZADD with its trim; a range of 30; SMISMEMBER, and each of its members."""


def graphs(habits: Habits) -> str:
    head = ["graph", "exponent of its tail", *(f"most followed of {size:,}" for size in SIZES)]
    rows = [head]
    for name in ALL_GRAPHS:
        shape = FollowerDistribution.of_graph(name)
        most = (max(g.followers for g in shape.groups(size, habits.follows)) for size in SIZES)
        rows.append([name, f"{shape.exponent:.2f}", *map(format_whole, most)])
    return table(rows)


def assumptions(habits: Habits, means: DeploymentOptions) -> str:
    values = {**asdict(habits), **asdict(means)}
    return ", ".join(f"`--{name.replace('_', '-')} {value:g}`" for name, value in values.items())


def format_whole(value: float) -> str:
    return f"{value:,.0f}"


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("--graph", choices=ALL_GRAPHS, default="verizon", help="whose followers; default verizon")
    parser.add_argument("--print", action="store_true", help="only say it; docs/reference/scale.md stays as it is")
    for kind in (Habits, DeploymentOptions):
        for each in fields(kind):
            parser.add_argument(f"--{each.name.replace('_', '-')}", type=float, default=each.default, metavar="X")
    arguments = vars(parser.parse_args(words))
    habits = Habits(**{each.name: arguments[each.name] for each in fields(Habits)})
    means = DeploymentOptions(**{each.name: arguments[each.name] for each in fields(DeploymentOptions)})
    try:
        shape = FollowerDistribution.of_graph(arguments["graph"])
        needs = [need_of(size, shape, habits, means) for size in SIZES]
        parts = [rows_of(needs), keys_of(needs), graphs(habits), assumptions(habits, means)]
    except DataNotAvailable as missing:
        parser.error(str(missing))
    if arguments["print"]:
        print("\n\n".join(parts))
    else:
        PAGE.write_text(replace_section(PAGE.read_text(), BEGIN, parts))
