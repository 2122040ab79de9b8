"""The plugin that starts slow tests first keeps every test, and gives each process slow tests at its start."""

from types import SimpleNamespace

from tests.plugins.slow_first import spread_slow_tests

PROCESSES = 6


def make_tests(file: str, count: int, *markers: str) -> list[SimpleNamespace]:
    return [
        SimpleNamespace(nodeid=f"{file}::{number}", get_closest_marker=lambda name: name in markers)
        for number in range(count)
    ]


def test_each_part_starts_with_slow_tests_and_no_test_is_lost() -> None:
    tests = make_tests("tests/unit/quick.py", 90)
    for number in range(PROCESSES):
        tests += make_tests(f"tests/faults/{number}.py", 2, "faults") + make_tests(
            f"tests/browser/{number}.py", 3, "slow"
        )
    ordered = list(spread_slow_tests(tests, PROCESSES))
    assert sorted(test.nodeid for test in ordered) == sorted(test.nodeid for test in tests)
    size = len(tests) // PROCESSES
    for process in range(PROCESSES):
        part = [test.nodeid for test in ordered[process * size : process * size + 2]]
        folder = "tests/browser" if process >= PROCESSES * 2 // 3 else "tests/faults"
        assert all(name.startswith(folder) for name in part), part


def test_a_few_tests_keep_their_order_in_one_process() -> None:
    tests = make_tests("tests/unit/quick.py", 3)
    assert list(spread_slow_tests(tests, 1)) == tests
