"""What a mover says while it works: for progress bars, and for tests that end it there."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MigrationProgress:
    """What was just done, to which slice (-1: to all), and how many slices of all have moved by now."""

    name: str
    slice_number: int
    done_slices: int
    total_slices: int


OnProgress = Callable[[MigrationProgress], None]
