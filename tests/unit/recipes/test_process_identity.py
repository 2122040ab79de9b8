"""Detection of dead processes by host, pid and start time."""

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from socialsite.recipes.process_identity import is_dead_process, process_identity

linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a start or a zombie cannot be seen")


def test_this_process_is_alive() -> None:
    assert not is_dead_process(process_identity())


@linux
def test_an_identity_has_the_host_the_pid_and_the_start_time() -> None:
    place, pid, start = process_identity().split()
    assert re.fullmatch("[0-9a-f]{16}", place)
    assert int(pid) == os.getpid()
    assert start == Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]


@linux
def test_a_process_of_another_user_is_considered_alive() -> None:
    place, _, _ = process_identity().split()
    child = os.fork()
    if not child:
        with contextlib.suppress(PermissionError):  # without permission this is another user already
            os.setuid(65534)
        os._exit(is_dead_process(f"{place} 1 1"))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@linux
def test_a_zombie_is_dead() -> None:
    program = "from socialsite.recipes.process_identity import process_identity; print(process_identity())"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    marked = child.stdout.read().strip()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # the child is a zombie now
    assert is_dead_process(marked)
    child.wait()
    assert is_dead_process(marked)


@linux
def test_a_later_process_with_the_same_pid_is_a_different_process() -> None:
    place, pid, _ = process_identity().split()
    assert is_dead_process(f"{place} {pid} 1")


def test_processes_of_other_hosts_are_never_considered_dead() -> None:
    _, pid, start = process_identity().split()
    assert not is_dead_process(f"0123456789abcdef {pid} {start}")
    assert not is_dead_process("0123456789abcdef 999999999 1")


def test_an_unparsable_identity_is_never_considered_dead() -> None:
    assert not is_dead_process("")
    assert not is_dead_process("1")
