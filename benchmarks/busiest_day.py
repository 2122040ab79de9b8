"""The busiest day of a site by minutes: posts, deliveries, reads and the backlog of the workers.

Posts of a group of accounts in a minute are drawn from a Poisson distribution, so posts of the
most followed accounts are as rare, and as expensive, as in reality. The same seed gives the same day.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.population import FollowerGroup

MINUTES = 1_440
POSTS_PER_PASS, WIDEST = 1_000, 10


@dataclass(frozen=True, slots=True)
class Habits:
    """Assumptions about the behaviour of users, each a parameter of `python -m benchmarks scale`."""

    follows: float = 50.0
    """Accounts followed by an account, on average."""
    monthly: float = 0.4
    """Share of the accounts that read within 30 days and therefore have a cached home."""
    daily: float = 0.15
    posts: float = 2.0
    """Posts a day of an account that is active that day."""
    pages: float = 30.0
    visits: float = 15.0
    """Pages read by visitors for each account that is active that day."""
    busiest: float = 3.0
    """Ratio of the busiest day to the mean day."""
    swing: float = 0.6
    """Amplitude of the hours of a day around its mean, as a share of the mean."""
    event: float = 4.0
    """Factor of the load in half an hour of that day's evening."""
    eager: float = 0.3
    """An account with k times the mean followers posts (1 + k) ** eager times as often."""


@dataclass(frozen=True, slots=True)
class MinuteLoad:
    posts: int
    deliveries: float
    jobs: float
    pages: float
    visits: float


@dataclass(frozen=True, slots=True)
class DayLoad:
    minutes: Sequence[MinuteLoad]
    largest_post: float
    """Followers of the most followed account that posted."""

    def total(self, name: str) -> float:
        return float(sum(getattr(minute, name) for minute in self.minutes))

    def peak(self, name: str) -> float:
        """Return the rate a second in the busiest minute."""
        return float(max(getattr(minute, name) for minute in self.minutes)) / 60


def simulate_day(groups: Sequence[FollowerGroup], habits: Habits, nodes: int, seed: int = 20_261_120) -> DayLoad:
    chance = random.Random(seed)
    accounts = sum(group.accounts for group in groups)
    active = accounts * habits.daily * habits.busiest
    eagerness = [group.accounts * (1 + group.followers / habits.follows) ** habits.eager for group in groups]
    whole = sum(eagerness)
    weights = day_curve(habits)
    size = POSTS_PER_PASS * max(1, min(nodes, WIDEST))
    jobs_of = [max(1, math.ceil(group.followers / size)) for group in groups]
    minutes, largest = [], 0.0
    for weight in weights:
        posts, deliveries, jobs = 0, 0.0, 0.0
        for group, eager, jobs_each in zip(groups, eagerness, jobs_of, strict=True):
            drawn = poisson(chance, active * habits.posts * weight * eager / whole)
            if drawn:
                posts += drawn
                deliveries += drawn * group.followers
                jobs += drawn * jobs_each
                largest = max(largest, group.followers)
        minutes.append(
            MinuteLoad(posts, deliveries, jobs, active * habits.pages * weight, active * habits.visits * weight)
        )
    return DayLoad(minutes, largest)


def day_curve(habits: Habits) -> list[float]:
    """Return the share of the day's work in each minute."""
    raw = [1 - habits.swing * math.cos(2 * math.pi * (m / MINUTES - 1 / 8)) for m in range(MINUTES)]
    for m in range(1_200, 1_230):
        raw[m] *= habits.event
    whole = sum(raw)
    return [each / whole for each in raw]


def poisson(chance: random.Random, mean: float) -> int:
    """Return a Poisson-distributed number; a large mean uses the normal distribution."""
    if mean > 50:
        return max(0, round(chance.gauss(mean, math.sqrt(mean))))
    bound, product, number = math.exp(-mean), chance.random(), 0
    while product > bound:
        product *= chance.random()
        number += 1
    return number


def longest_backlog_s(day: DayLoad, deliveries_per_s: float) -> float:
    """Return the wait of the last delivery of the worst minute in s, with workers of that total rate."""
    owed = worst = 0.0
    for minute in day.minutes:
        owed = max(0.0, owed + minute.deliveries - 60 * deliveries_per_s)
        worst = max(worst, owed)
    return worst / deliveries_per_s
