"""Run coroutines at the same time, so that none of them is left running after an error."""

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar, cast, overload

T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
T5 = TypeVar("T5")
T6 = TypeVar("T6")


# The overloads keep the type of each result, as those of `asyncio.gather` do.
@overload
async def run_together(a: Awaitable[T1], b: Awaitable[T2], /) -> tuple[T1, T2]: ...
@overload
async def run_together(a: Awaitable[T1], b: Awaitable[T2], c: Awaitable[T3], /) -> tuple[T1, T2, T3]: ...
@overload
async def run_together(
    a: Awaitable[T1], b: Awaitable[T2], c: Awaitable[T3], d: Awaitable[T4], /
) -> tuple[T1, T2, T3, T4]: ...
@overload
async def run_together(
    a: Awaitable[T1], b: Awaitable[T2], c: Awaitable[T3], d: Awaitable[T4], e: Awaitable[T5], /
) -> tuple[T1, T2, T3, T4, T5]: ...
@overload
async def run_together(
    a: Awaitable[T1], b: Awaitable[T2], c: Awaitable[T3], d: Awaitable[T4], e: Awaitable[T5], f: Awaitable[T6], /
) -> tuple[T1, T2, T3, T4, T5, T6]: ...
@overload
async def run_together(*awaitables: Awaitable[T]) -> list[T]: ...


async def run_together(*awaitables: Awaitable[Any]) -> Any:
    """Return the results in order. If an awaitable fails, cancel the others, wait for their end, and raise its error.

    `asyncio.gather` would leave the others running, during a retry or after the answer. `asyncio.TaskGroup` alone would
    raise an ExceptionGroup.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_as_coroutine(each)) for each in awaitables]
    except BaseExceptionGroup as errors:
        first_error = errors.exceptions[0]
    else:
        return [task.result() for task in tasks]
    raise first_error  # outside of `except`, so that its own cause and context are kept


async def run_all_to_end(work: Awaitable[T], *others: Awaitable[object]) -> T:
    """Return the result of `work` after all awaitables have ended.

    If some fail, the others still do their work. Then the first of the errors is raised, in the order of the arguments.
    """
    results = await asyncio.gather(work, *others, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return cast(T, results[0])


def _as_coroutine(awaitable: Awaitable[T]) -> Coroutine[Any, Any, T]:
    return awaitable if asyncio.iscoroutine(awaitable) else _wait_for(awaitable)


async def _wait_for(awaitable: Awaitable[T]) -> T:
    return await awaitable
