"""Each round measures every side once, in alternating order; the first round does not count."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from socialsite.web.gc_tuning import freeze_startup_objects

T = TypeVar("T")


async def measure_in_rounds(rounds: int, sides: Mapping[str, Callable[[], Awaitable[T]]]) -> dict[str, list[T]]:
    """Return the results of each side, round by round. The garbage collector is set as in the site's processes."""
    freeze_startup_objects()
    names = list(sides)
    answers: dict[str, list[T]] = {name: [] for name in names}
    for number in range(rounds + 1):
        for name in names if number % 2 else reversed(names):
            answer = await sides[name]()
            if number:  # the first round warms caches, connections and the allocator
                answers[name].append(answer)
    return answers
