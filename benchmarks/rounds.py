"""Taking turns: each round measures every side once, in changing order; the first round does not count."""

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
Side = Callable[[], Awaitable[T] | T]


async def in_turn(rounds: int, sides: dict[str, Side[T]]) -> dict[str, list[T]]:
    """What each side answered, round by round."""
    names = list(sides)
    answers: dict[str, list[T]] = {name: [] for name in names}
    for number in range(rounds + 1):
        for name in names if number % 2 else reversed(names):
            answer = sides[name]()
            if inspect.isawaitable(answer):
                answer = await answer
            if number:  # the first round warms caches, connections and the allocator
                answers[name].append(answer)
    return answers
