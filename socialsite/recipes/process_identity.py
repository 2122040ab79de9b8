"""Detect that a process of this machine has ended, without waiting until its heartbeat expires.

An identity names a process: its host (kernel boot id and pid namespace), its pid and its start time. Only a
process of the same host can be recognised as dead; the state of processes of other hosts is unknown.
"""

import hashlib
import os
import platform
import uuid
from functools import cache
from pathlib import Path


@cache
def process_identity() -> str:
    """Return the identity of this process: host, pid and start time."""
    return f"{_host_identity()} {os.getpid()} {_read_start_time(os.getpid()) or '?'}"


def is_dead_process(identity: str) -> bool:
    """Return True only if the process has certainly ended."""
    host, _, process = identity.partition(" ")
    pid, _, start = process.partition(" ")
    if host != _host_identity() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # the process of another user exists
        return False
    present_start = _read_start_time(int(pid))
    return present_start is not None and start not in ("?", present_start)


@cache
def _host_identity() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        host = f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        host = f"{platform.node()} {uuid.getnode()}"
    return hashlib.sha256(host.encode()).hexdigest()[:16]


def _read_start_time(pid: int) -> str | None:
    """Return the start time in kernel ticks, "ended" for a zombie, or None if /proc cannot be read."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return "ended" if fields[0] in "ZX" else fields[19]
