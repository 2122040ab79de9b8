"""Whether a process of this machine still runs, so that nobody has to wait for its heartbeat to fade.

A mark names a process: where it runs (kernel boot and pid namespace), its pid and its start. Only a process
in the same place can be called dead; of any other nothing is known.
"""

import hashlib
import os
import platform
import uuid
from functools import cache
from pathlib import Path


@cache
def process_identity() -> str:
    """This process, as others can look for it."""
    return f"{_host_identity()} {os.getpid()} {_read_start_time(os.getpid()) or '?'}"


def is_dead_process(marked: str) -> bool:
    """True only if the process surely runs no more."""
    place, _, process = marked.partition(" ")
    pid, _, start = process.partition(" ")
    if place != _host_identity() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # somebody else's, so it is there
        return False
    found = _read_start_time(int(pid))
    return found is not None and start not in ("?", found)


@cache
def _host_identity() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        place = f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        place = f"{platform.node()} {uuid.getnode()}"
    return hashlib.sha256(place.encode()).hexdigest()[:16]


def _read_start_time(pid: int) -> str | None:
    """When the process began, in the kernel's ticks; "ended" for a zombie; None where it cannot be seen."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return "ended" if fields[0] in "ZX" else fields[19]
