"""Accounts by their number of followers, at any size, distributed as in a real graph.

Up to the 99th percentile the graph's own degrees count, as multiples of their mean. Beyond it they fall as a
power law; its exponent is estimated from the graph (Hill's estimator over the top hundredth). The tail continues
as far as the number of accounts allows, and no further than MAX_FOLLOWED_SHARE of them.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.graphs import edges_of

TOP_SHARE = 0.01
MAX_FOLLOWED_SHARE = 1 / 3
"""Maximum share of all accounts that follow one account."""
TAIL_GROUP_FACTOR = 2**0.25
"""Factor between two groups of the tail: about 13 groups for a factor of ten."""


@dataclass(frozen=True, slots=True)
class FollowerGroup:
    """A group of `accounts` accounts with `followers` followers each."""

    accounts: float
    followers: float


@dataclass(frozen=True, slots=True)
class FollowerDistribution:
    """The distribution of followers without its size: `body` is (share of accounts, multiple of the mean)."""

    body: Sequence[tuple[float, float]]
    start: float
    """Multiple of the mean where the tail begins, at the top hundredth."""
    exponent: float

    @classmethod
    def of_graph(cls, name: str) -> "FollowerDistribution":
        """Return the distribution of a graph of the reference data. Raises DataNotAvailable."""
        edges = list(edges_of(name))
        accounts = len({one for edge in edges for one in edge})
        counted = Counter(followed for _, followed in edges)
        return cls.of_degrees([0] * (accounts - len(counted)) + sorted(counted.values()))

    @classmethod
    def of_degrees(cls, degrees: Sequence[int]) -> "FollowerDistribution":
        """Return the distribution of `degrees`, which are in ascending order."""
        mean = sum(degrees) / len(degrees)
        tail = degrees[-max(2, round(len(degrees) * TOP_SHARE)) :]
        exponent = len(tail) / sum(math.log(each / tail[0]) for each in tail)
        counted = Counter(degrees[: -len(tail)])
        body = [(count / len(degrees), degree / mean) for degree, count in sorted(counted.items())]
        return cls(body, tail[0] / mean, exponent)

    def groups(self, accounts: int, mean: float) -> list[FollowerGroup]:
        """Return the groups of a site with this many accounts and `mean` follows for each."""
        body = [FollowerGroup(share * accounts, multiple) for share, multiple in self.body]
        tail = list(self._tail(accounts, mean))
        total = sum(each.accounts * each.followers for each in (*body, *tail))
        scale = accounts * mean / total
        most = accounts * MAX_FOLLOWED_SHARE
        return [FollowerGroup(each.accounts, min(most, each.followers * scale)) for each in (*body, *tail)]

    def _tail(self, accounts: int, mean: float) -> Iterable[FollowerGroup]:
        """Yield the groups of the tail, as multiples of the mean, until less than one account is left."""
        left, at = accounts * TOP_SHARE, self.start
        while left >= 1 and at * mean < accounts * MAX_FOLLOWED_SHARE:
            beyond = left * TAIL_GROUP_FACTOR**-self.exponent
            here = left - beyond if beyond >= 1 else left
            yield FollowerGroup(here, at * TAIL_GROUP_FACTOR**0.5)
            left, at = left - here, at * TAIL_GROUP_FACTOR
        if left >= 1:
            yield FollowerGroup(left, accounts * MAX_FOLLOWED_SHARE / mean)
