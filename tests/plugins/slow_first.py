"""Start the slow tests of each test process first: a slow test that starts last keeps the other processes waiting."""

import math
from collections.abc import Iterator

import pytest


@pytest.hookimpl(trylast=True)  # the folders have marked their tests by then
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    worker_input = getattr(config, "workerinput", {"workercount": 1})
    items[:] = spread_slow_tests(items, worker_input["workercount"])


def spread_slow_tests(items: list[pytest.Item], process_count: int) -> Iterator[pytest.Item]:
    """Yield the tests so that equal parts, which xdist gives to the processes, begin with slow files of their own.

    A third of the processes get all browser tests: each of them starts a site and a browser.
    """
    slow_files: dict[str, list[pytest.Item]] = {}
    quick = []
    for item in items:
        if any(item.get_closest_marker(name) for name in ("slow", "faults")):
            slow_files.setdefault(item.nodeid.partition("::")[0], []).append(item)
        else:
            quick.append(item)
    remaining_count = len(items)
    for process, names in enumerate(share_files(slow_files, process_count)):
        size = remaining_count // (process_count - process)
        slow = [item for name in names for item in slow_files[name]]
        quick_count = max(0, size - len(slow))
        yield from slow
        yield from quick[:quick_count]
        del quick[:quick_count]
        remaining_count -= size
    yield from quick


def share_files(slow_files: dict[str, list[pytest.Item]], process_count: int) -> list[list[str]]:
    """Return the slow files of each process. The last third of the processes gets the browser tests."""
    shares: list[list[str]] = [[] for _ in range(process_count)]
    test_counts = [0] * process_count
    browser_from = process_count - math.ceil(process_count / 3)
    for name in sorted(slow_files, key=lambda name: -len(slow_files[name])):
        processes = range(browser_from, process_count) if "/browser/" in name else range(max(1, browser_from))
        process = min(processes, key=lambda number: test_counts[number])
        shares[process].append(name)
        test_counts[process] += len(slow_files[name])
    return shares
