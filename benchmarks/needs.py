"""The memory, machines and money that a number of accounts needs on its busiest day.

Unit costs are measured figures, machines and prices are assumptions; scale.py makes tables of the needs.
"""

import math
from dataclasses import dataclass

from benchmarks.busiest_day import DayLoad, Habits, longest_backlog_s, simulate_day
from benchmarks.population import FollowerDistribution
from benchmarks.report import Run

GB = 1e9


@dataclass(frozen=True, slots=True)
class UnitCost:
    """A measured cost: its place in docs/reference/benchmarks.json; `until` is used until this release is measured."""

    name: str
    figure: str
    unit: str
    until: float

    @property
    def value(self) -> float:
        run = Run.read()
        recorded = run.figure(self.name, self.figure, self.unit) if run else None
        return self.until if recorded is None else recorded.ours.median


SERVER, WEB = "CPU us of the server", "CPU ms/request"
UNITS = {
    "bytes an account": UnitCost("B20", "a account", "bytes", 796),
    "bytes a follow, both sides": UnitCost("B20", "a follow", "bytes", 114),
    "bytes a post, with its place on the profile": UnitCost("B20", "a post", "bytes", 382),
    "bytes an entry of a home": UnitCost("B3", "a home of 1,000 entries", "bytes/entry", 11.5),
    "server us a delivery": UnitCost("B20", "a delivery", SERVER, 0.8),
    "server us a page at home": UnitCost("B20", "a home page", SERVER, 47),
    "server us a visitor's page": UnitCost("B20", "a public page", SERVER, 43),
    "server us a publish": UnitCost("B20", "a publish", SERVER, 130),
    "server us a job": UnitCost("B20", "a job", SERVER, 56),
    "deliveries/s of a worker": UnitCost("B1", "one post to 10,000 full homes, by the worker", "deliveries/s", 917_000),
    "web ms a page": UnitCost("B5", "home page of 30, signed in", WEB, 1.47),
    "web ms a publish": UnitCost("B5c", "publish, until the answer", WEB, 1.93),
}


@dataclass(frozen=True, slots=True)
class DeploymentOptions:
    """Assumptions about machines and prices."""

    node_gb: float = 24.0
    """Data on one node; a copy to a new replica then takes minutes."""
    spare: float = 1.5
    """Memory of a node for each byte of data: copy on write, buffers, growth."""
    copies: float = 2.0
    """Copies of the data: a master and a replica."""
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
    """Price of one GB, in euro a month."""
    core_price: float = 12.0


@dataclass(frozen=True, slots=True)
class CapacityNeed:
    accounts: int
    day: DayLoad
    memory: float
    nodes: int
    nodes_by_work: int
    web_cores: int
    workers: int
    monthly_price: float
    means: DeploymentOptions

    @property
    def backlog_s(self) -> float:
        """The longest backlog in s with a third (at least one) of the workers for the worst minute."""
        workers = max(1, self.workers // 3)
        return longest_backlog_s(self.day, workers * UNITS["deliveries/s of a worker"].value)


def memory_of(accounts: int, habits: Habits, means: DeploymentOptions) -> float:
    """Return the bytes of one copy of the data."""
    posts_a_day = accounts * habits.daily * habits.posts
    unit = {name: each.value for name, each in UNITS.items()}
    data = accounts * unit["bytes an account"]
    data += accounts * habits.follows * unit["bytes a follow, both sides"]
    data += posts_a_day * means.kept_days * unit["bytes a post, with its place on the profile"]
    data += posts_a_day * (365 - means.kept_days) * means.marker_bytes
    home = means.home_entries * unit["bytes an entry of a home"] + means.session_bytes
    return means.other * (data + accounts * habits.monthly * home)


def server_s(day: DayLoad, means: DeploymentOptions) -> float:
    """Return an upper bound of the servers' CPU seconds a second, in the worst minute of each kind of work."""
    unit = {name: each.value for name, each in UNITS.items()}
    us = day.peak("deliveries") * unit["server us a delivery"] + day.peak("posts") * unit["server us a publish"]
    us += day.peak("pages") * unit["server us a page at home"]
    us += day.peak("visits") * unit["server us a visitor's page"] + day.peak("jobs") * unit["server us a job"]
    return means.other * us / 1e6


def need_of(accounts: int, shape: FollowerDistribution, habits: Habits, means: DeploymentOptions) -> CapacityNeed:
    memory = memory_of(accounts, habits, means)
    by_memory = math.ceil(memory / (means.node_gb * GB))
    groups = shape.groups(accounts, habits.follows)
    day = simulate_day(groups, habits, by_memory)
    by_work = math.ceil(server_s(day, means) / means.busy)
    nodes = max(1, by_memory, by_work)
    web_ms = (day.peak("pages") + day.peak("visits")) * UNITS["web ms a page"].value
    web_ms += day.peak("posts") * UNITS["web ms a publish"].value
    web_cores = math.ceil(web_ms / 1000 / means.busy)
    workers = math.ceil(day.peak("deliveries") / means.busy / UNITS["deliveries/s of a worker"].value)
    gb, cores = memory * means.spare * means.copies / GB, nodes * means.copies + web_cores + workers
    price = gb * means.gb_price + cores * means.core_price
    return CapacityNeed(accounts, day, memory, nodes, by_work, web_cores, workers, price, means)
