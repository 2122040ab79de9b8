"""Who is dead, and who only might be."""

import os
import subprocess
import sys

import pytest

from socialsite.recipes.liveness import is_dead, mark

linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a start or a zombie cannot be seen")


def test_one_is_alive_oneself() -> None:
    assert not is_dead(mark())


@linux
def test_a_process_that_ended_is_dead_even_before_its_parent_looks() -> None:
    program = "from socialsite.recipes.liveness import mark; print(mark())"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    marked = child.stdout.read().strip()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # a zombie now
    assert is_dead(marked)
    child.wait()
    assert is_dead(marked)


@linux
def test_a_later_process_with_the_same_pid_is_another() -> None:
    place, pid, _ = mark().split()
    assert is_dead(f"{place} {pid} 1")


def test_nothing_is_known_of_other_machines() -> None:
    _, pid, start = mark().split()
    assert not is_dead(f"0123456789abcdef {pid} {start}")
    assert not is_dead("0123456789abcdef 999999999 1")


def test_nothing_is_known_of_a_mark_that_says_nothing() -> None:
    assert not is_dead("")
    assert not is_dead("1")
