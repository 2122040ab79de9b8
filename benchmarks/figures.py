"""The result of a benchmark: samples of both sides, their ratio, and their budget."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal


class DataNotAvailable(Exception):
    """Required data or a required program is missing on this machine; the message names it."""


@dataclass(frozen=True, slots=True)
class Samples:
    """One value for each round."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, *values: float) -> "Samples":
        return cls(tuple(values))

    @classmethod
    def all(cls, values: Iterable[float]) -> "Samples":
        return cls(tuple(values))

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def divided_by(self, other: "Samples") -> "Samples":
        """Return the ratio of each round: both sides of a round ran under the same load of the machine."""
        return Samples(tuple(a / b for a, b in zip(self.values, other.values, strict=True)))

    def __str__(self) -> str:
        low, high = min(self.values), max(self.values)
        middle = format_short(self.median)
        return middle if len(self.values) == 1 else f"{middle} ({format_short(low)}-{format_short(high)})"


@dataclass(frozen=True, slots=True)
class Budget:
    """A bound on the ratio to the reference, or on the figure itself if it has no reference."""

    sense: Literal[">=", "<="]
    bound: float

    def is_met_by(self, value: float) -> bool:
        return value >= self.bound if self.sense == ">=" else value <= self.bound

    def __str__(self) -> str:
        return f"{self.sense} {self.bound:g}"


def at_least(bound: float) -> Budget:
    return Budget(">=", bound)


def at_most(bound: float) -> Budget:
    return Budget("<=", bound)


@dataclass(frozen=True, slots=True)
class Figure:
    """A line of the report. Without a reference the budget bounds the figure; without a budget it informs."""

    what: str
    unit: str
    ours: Samples
    budget: Budget | None = None
    reference: Samples | None = None
    against: str = ""
    note: str = ""
    absolute: bool = False  # the budget bounds the figure although it has a reference

    @property
    def ratio(self) -> Samples | None:
        return None if self.reference is None else self.ours.divided_by(self.reference)

    @property
    def verdict(self) -> str:
        if self.budget is None:
            return "-"
        bounded = self.ours if self.absolute or self.ratio is None else self.ratio
        return "met" if self.budget.is_met_by(bounded.median) else "MISSED"


@dataclass(slots=True)
class Plan:
    """The amount of work to measure. `quick`: a tenth of the size, only to test the benchmark itself."""

    rounds: int = 5
    quick: bool = False
    notes: list[str] = field(default_factory=list)

    def size(self, full: int, least: int = 1) -> int:
        return max(least, full // 10) if self.quick else full

    @property
    def seconds(self) -> float:
        """Seconds of load for each side and round."""
        return 0.5 if self.quick else 2.0


def format_short(value: float) -> str:
    """Return three significant digits, with commas between thousands."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
