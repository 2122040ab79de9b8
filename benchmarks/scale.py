"""`python -m benchmarks scale`: what 10^6, 10^8 and 10^9 accounts need; writes the tables of docs/scale.md.

Unit costs come from docs/benchmarks.json (B20, and B3, B5, B5c for what they measure); where B20 was not
recorded yet, the ones below stand in and the page says so. Everything else is an assumption with a parameter.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from benchmarks.busiest_day import Day, Habits, longest_backlog_s, simulated
from benchmarks.figures import NotHere, short
from benchmarks.population import Shape
from benchmarks.report import kept_median

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scale.md"
BEGIN, END = "<!-- python -m benchmarks scale -->", "<!-- end -->"
SIZES = (10**6, 10**8, 10**9)
ALL_GRAPHS = ("verizon", "hershey", "slashdot", "higgs")
GB = 1e9


@dataclass(frozen=True, slots=True)
class Unit:
    """A measured cost: where it is in docs/benchmarks.json; `until` counts before it is there."""

    name: str
    figure: str
    unit: str
    until: float

    @property
    def value(self) -> float:
        found = kept_median(self.name, self.figure, self.unit)
        return self.until if found is None else found

    @property
    def source(self) -> str:
        was_kept = kept_median(self.name, self.figure, self.unit) is not None
        return self.name if was_kept else f"a first run of {self.name}"


SERVER, WEB = "CPU us of the server", "CPU ms/request"
UNITS = {
    "bytes an account": Unit("B20", "a account", "bytes", 437),
    "bytes a follow, both sides": Unit("B20", "a follow", "bytes", 114),
    "bytes a post, with its place on the profile": Unit("B20", "a post", "bytes", 382),
    "bytes an entry of a home": Unit("B3", "a home of 1,000 entries", "bytes/entry", 10.4),
    "server us a delivery": Unit("B20", "a delivery", SERVER, 2.3),
    "server us a page at home": Unit("B20", "a home page", SERVER, 140),
    "server us a visitor's page": Unit("B20", "a public page", SERVER, 75),
    "server us a publish": Unit("B20", "a publish", SERVER, 120),
    "server us a job": Unit("B20", "a job", SERVER, 34),
    "deliveries/s of a worker": Unit(
        "B1", "one post to 10,000 full homes, by the worker", "deliveries/s", 300_000
    ),
    "web ms a page": Unit("B5", "home page of 30, signed in", WEB, 1.14),
    "web ms a publish": Unit("B5c", "publish, until the answer", WEB, 1.07),
}


@dataclass(frozen=True, slots=True)
class Means:
    """Machines and prices: assumptions, too."""

    node_gb: float = 24.0
    """Data on one node; a copy to a new replica then takes minutes."""
    spare: float = 1.5
    """Memory a node has for a byte of data: copy on write, buffers, growth."""
    copies: float = 2.0
    """A master and a replica."""
    busy: float = 0.7
    """Share of a core that a process may use in the worst minute."""
    home_entries: float = 1_000.0
    kept_days: float = 90.0
    """Days of posts in Redis; older ones are in the archive and leave `marker_bytes`, here for a year."""
    marker_bytes: float = 120.0
    session_bytes: float = 1_000.0
    other: float = 1.2
    """Likes, counts, notifications, search, series: a fifth more, in memory and in work."""
    gb_price: float = 3.0
    """Euro a month."""
    core_price: float = 12.0


@dataclass(frozen=True, slots=True)
class Need:
    accounts: int
    day: Day
    memory: float
    nodes: int
    nodes_by_work: int
    web_cores: int
    workers: int
    monthly_price: float
    means: Means

    @property
    def backlog_s(self) -> float:
        """With a third of the workers that the worst minute asks for, but one at least."""
        workers = max(1, self.workers // 3)
        return longest_backlog_s(self.day, workers * UNITS["deliveries/s of a worker"].value)


def memory_of(accounts: int, habits: Habits, means: Means) -> float:
    """Bytes of data, once."""
    posts_a_day = accounts * habits.daily * habits.posts
    unit = {name: each.value for name, each in UNITS.items()}
    data = accounts * unit["bytes an account"]
    data += accounts * habits.follows * unit["bytes a follow, both sides"]
    data += posts_a_day * means.kept_days * unit["bytes a post, with its place on the profile"]
    data += posts_a_day * (365 - means.kept_days) * means.marker_bytes
    home = means.home_entries * unit["bytes an entry of a home"] + means.session_bytes
    return means.other * (data + accounts * habits.monthly * home)


def server_s(day: Day, means: Means) -> float:
    """Seconds of servers' work for each second, in the worst minute of each kind: a bound."""
    unit = {name: each.value for name, each in UNITS.items()}
    us = (
        day.peak("deliveries") * unit["server us a delivery"]
        + day.peak("posts") * unit["server us a publish"]
    )
    us += day.peak("pages") * unit["server us a page at home"]
    us += day.peak("visits") * unit["server us a visitor's page"] + day.peak("jobs") * unit["server us a job"]
    return means.other * us / 1e6


def need_of(accounts: int, shape: Shape, habits: Habits, means: Means) -> Need:
    memory = memory_of(accounts, habits, means)
    by_memory = math.ceil(memory / (means.node_gb * GB))
    groups = shape.groups(accounts, habits.follows)
    day = simulated(groups, habits, by_memory)
    by_work = math.ceil(server_s(day, means) / means.busy)
    nodes = max(1, by_memory, by_work)
    web_ms = (day.peak("pages") + day.peak("visits")) * UNITS["web ms a page"].value
    web_ms += day.peak("posts") * UNITS["web ms a publish"].value
    web_cores = math.ceil(web_ms / 1000 / means.busy)
    workers = math.ceil(day.peak("deliveries") / means.busy / UNITS["deliveries/s of a worker"].value)
    gb, cores = memory * means.spare * means.copies / GB, nodes * means.copies + web_cores + workers
    price = gb * means.gb_price + cores * means.core_price
    return Need(accounts, day, memory, nodes, by_work, web_cores, workers, price, means)


def rows_of(needs: Sequence[Need]) -> str:
    first = lambda need: need.day.largest_post / UNITS["deliveries/s of a worker"].value  # noqa: E731
    lines = {
        "posts on the busiest day": lambda n: whole(n.day.total("posts")),
        "deliveries of a post, mean": lambda n: short(n.day.total("deliveries") / n.day.total("posts")),
        "posts/s in the worst minute": lambda n: whole(n.day.peak("posts")),
        "deliveries/s in the worst minute": lambda n: whole(n.day.peak("deliveries")),
        "pages/s in the worst minute": lambda n: whole(n.day.peak("pages") + n.day.peak("visits")),
        "data": lambda n: f"{short(n.memory / GB)} GB",
        "memory, with room and a replica": lambda n: (
            f"{short(n.memory * n.means.spare * n.means.copies / GB)} GB"
        ),
        "masters (by work alone)": lambda n: f"{whole(n.nodes)} ({whole(n.nodes_by_work)})",
        "web processes, a core each": lambda n: whole(n.web_cores),
        "workers, a core each": lambda n: whole(n.workers),
        "with a third of the workers, the last delivery waits": lambda n: f"{short(n.backlog_s)} s",
        "followers of the most followed who posted": lambda n: whole(n.day.largest_post),
        "their post reaches the last of them after": lambda n: f"{short(first(n))} s",
        "euro a month (for 1,000 accounts)": lambda n: (
            f"{whole(n.monthly_price)} ({short(n.monthly_price / n.accounts * 1000)})"
        ),
    }
    head = ["", *(f"{need.accounts:,} accounts" for need in needs)]
    rows = [head, ["---"] * len(head), *([what, *map(tell, needs)] for what, tell in lines.items())]
    return table(rows)


def keys_of(needs: Sequence[Need]) -> str:
    """What lies on one node however many there are: its share of that node's core in the worst minute."""
    unit = {name: each.value for name, each in UNITS.items()}
    lines = {
        "outbox: all jobs, one stream": lambda n: n.day.peak("jobs") * unit["server us a job"],
        "public timeline: written by every post": lambda n: n.day.peak("posts") * PUBLIC_WRITE_US,
        "public timeline: read by half of the visits": lambda n: n.day.peak("visits") / 2 * PUBLIC_READ_US,
        "presence: each pass asks each web process's set (spread over all nodes)": lambda n: (
            n.web_cores * (n.day.peak("jobs") * PRESENCE_US + n.day.peak("deliveries") * PRESENT_US) / n.nodes
        ),
    }
    head = ["", *(f"{need.accounts:,} accounts" for need in needs)]
    rows = [[what, *(f"{100 * tell(need) / 1e6:,.3g} %" for need in needs)] for what, tell in lines.items()]
    return table([head, ["---"] * len(head), *rows])


PUBLIC_WRITE_US, PUBLIC_READ_US, PRESENCE_US, PRESENT_US = 12.0, 15.0, 4.0, 0.05
"""Assumed: ZADD with its trim; a range of 30; SMISMEMBER, and each account it is asked about."""


def graphs(habits: Habits) -> str:
    head = ["graph", "exponent of its tail", *(f"most followed of {size:,}" for size in SIZES)]
    rows = [head, ["---"] * len(head)]
    for name in ALL_GRAPHS:
        shape = Shape.of_graph(name)
        most = (max(g.followers for g in shape.groups(size, habits.follows)) for size in SIZES)
        rows.append([name, f"{shape.exponent:.2f}", *map(whole, most)])
    return table(rows)


def units() -> str:
    head = ["unit", "value", "from"]
    rows = [[what, short(each.value), each.source] for what, each in UNITS.items()]
    return table([head, ["---"] * 3, *rows])


def assumptions(habits: Habits, means: Means) -> str:
    given = {**asdict(habits), **asdict(means)}
    return ", ".join(f"`--{name.replace('_', '-')} {value:g}`" for name, value in given.items())


def table(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def whole(value: float) -> str:
    return f"{value:,.0f}"


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument(
        "--graph", choices=ALL_GRAPHS, default="verizon", help="whose followers; default verizon"
    )
    parser.add_argument("--print", action="store_true", help="only say it; docs/scale.md stays as it is")
    for kind in (Habits, Means):
        for each in fields(kind):
            parser.add_argument(
                f"--{each.name.replace('_', '-')}", type=float, default=each.default, metavar="X"
            )
    given = vars(parser.parse_args(words))
    habits = Habits(**{each.name: given[each.name] for each in fields(Habits)})
    means = Means(**{each.name: given[each.name] for each in fields(Means)})
    try:
        shape = Shape.of_graph(given["graph"])
        needs = [need_of(size, shape, habits, means) for size in SIZES]
        parts = [rows_of(needs), keys_of(needs), graphs(habits), units(), assumptions(habits, means)]
    except NotHere as missing:
        parser.error(str(missing))
    if given["print"]:
        print("\n\n".join(parts))
    else:
        PAGE.write_text(filled(PAGE.read_text(), parts))


def filled(page: str, parts: Sequence[str]) -> str:
    """The page with its tables, in their order, between the marks."""
    pieces = page.split(BEGIN)
    if len(pieces) != len(parts) + 1:
        raise SystemExit(f"{PAGE.name} has {len(pieces) - 1} places for {len(parts)} tables")
    found = [pieces[0]]
    for part, piece in zip(parts, pieces[1:], strict=True):
        found.append(f"{BEGIN}\n\n{part}\n\n{END}{piece.partition(END)[2]}")
    return "".join(found)
