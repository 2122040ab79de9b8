"""Where and on what a benchmark ran: without it a figure says nothing."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import version

PACKAGES = ("Django", "daphne", "channels", "channels_redis", "redis", "hiredis", "msgspec")


def commit() -> str:
    """The checkout's commit, marked where files differ from it (but those that benchmarks write)."""
    found = _command_output("git", "rev-parse", "--short", "HEAD")
    watched = (".", ":!docs", ":!README.md")
    changed = _command_output("git", "status", "--porcelain", "--untracked-files=no", "--", *watched)
    return f"{found}-dirty" if found and changed else found or "unknown"


def description() -> str:
    """Cores, memory, versions; one line."""
    server = _command_output("redis-server", "--version").split()
    number = next((word[2:] for word in server if word.startswith("v=")), "?")
    parts = [f"{os.cpu_count()} cores", memory(), f"{platform.system()} {platform.machine()}"]
    parts += [f"Python {platform.python_version()}", f"redis-server {number}"]
    return ", ".join(parts + [f"{name} {version(name)}" for name in PACKAGES])


def memory() -> str:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{pages / 2**30:.0f} GB"


def load() -> float:
    """How many processes wanted to run in the last minute: well above the cores, figures are worth little."""
    return os.getloadavg()[0]


def _command_output(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
