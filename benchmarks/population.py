"""Accounts by how many follow them, at any size, distributed as in a real graph.

Up to the 99th percentile the graph's own degrees count, as multiples of their mean. Beyond it they fall as a
power whose exponent is taken from the graph (Hill's estimator over the top hundredth), which is carried on as
far as the number of accounts reaches, and no further than MOST_SHARE of them.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.graphs import edges_of

TOP = 0.01
MOST_SHARE = 1 / 3
"""Nobody is followed by more than a third of all."""
STEP = 2**0.25
"""Between two groups of the tail: 16 of them to each tenfold, and a bit."""


@dataclass(frozen=True, slots=True)
class Group:
    """`accounts` that have `followers` each."""

    accounts: float
    followers: float


@dataclass(frozen=True, slots=True)
class Shape:
    """A graph without its size: `body` is (share of accounts, multiple of the mean)."""

    body: Sequence[tuple[float, float]]
    start: float
    """Multiple of the mean where the tail begins, at the top hundredth."""
    exponent: float

    @classmethod
    def of_graph(cls, name: str) -> "Shape":
        """Raises NotHere."""
        edges = list(edges_of(name))
        accounts = len({one for edge in edges for one in edge})
        counted = Counter(followed for _, followed in edges)
        return cls.of_degrees([0] * (accounts - len(counted)) + sorted(counted.values()))

    @classmethod
    def of_degrees(cls, degrees: Sequence[int]) -> "Shape":
        """`degrees` rise."""
        mean = sum(degrees) / len(degrees)
        tail = degrees[-max(2, round(len(degrees) * TOP)) :]
        exponent = len(tail) / sum(math.log(each / tail[0]) for each in tail)
        counted = Counter(degrees[: -len(tail)])
        body = [(count / len(degrees), degree / mean) for degree, count in sorted(counted.items())]
        return cls(body, tail[0] / mean, exponent)

    def groups(self, accounts: int, mean: float) -> list[Group]:
        """A site of that many, who follow `mean` others each."""
        body = [Group(share * accounts, multiple) for share, multiple in self.body]
        tail = list(self._tail(accounts, mean))
        total = sum(each.accounts * each.followers for each in (*body, *tail))
        scale = accounts * mean / total
        most = accounts * MOST_SHARE
        return [Group(each.accounts, min(most, each.followers * scale)) for each in (*body, *tail)]

    def _tail(self, accounts: int, mean: float) -> Iterable[Group]:
        """Multiples of the mean, until less than one account is left."""
        left, at = accounts * TOP, self.start
        while left >= 1 and at * mean < accounts * MOST_SHARE:
            beyond = left * STEP**-self.exponent
            here = left - beyond if beyond >= 1 else left
            yield Group(here, at * STEP**0.5)
            left, at = left - here, at * STEP
        if left >= 1:
            yield Group(left, accounts * MOST_SHARE / mean)
