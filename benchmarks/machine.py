"""The commit and the machine of a benchmark's run."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import version

PACKAGES = ("Django", "daphne", "channels", "channels_redis", "redis", "hiredis", "msgspec")


def commit() -> str:
    """Return the checkout's commit, marked as dirty if a file other than the benchmarks' own output differs."""
    revision = _command_output("git", "rev-parse", "--short", "HEAD")
    watched = (".", ":!docs", ":!README.md")
    changed = _command_output("git", "status", "--porcelain", "--untracked-files=no", "--", *watched)
    return f"{revision}-dirty" if revision and changed else revision or "unknown"


def has_product_of(commit: str) -> bool:
    """Return whether the checkout differs from a clean commit in nothing but benchmarks, tests and documents."""
    watched = (".", ":!benchmarks", ":!tests", ":!docs", ":!*.md")
    return subprocess.run(["git", "diff", "--quiet", commit, "--", *watched], stderr=subprocess.DEVNULL).returncode == 0


def description() -> str:
    """Return cores, memory and versions in one line."""
    server = _command_output("redis-server", "--version").split()
    number = next((word[2:] for word in server if word.startswith("v=")), "?")
    parts = [f"{os.cpu_count()} cores", memory(), f"{platform.system()} {platform.machine()}"]
    parts += [f"Python {platform.python_version()}", f"redis-server {number}"]
    return ", ".join(parts + [f"{name} {version(name)}" for name in PACKAGES])


def memory() -> str:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{pages / 2**30:.0f} GB"


def load() -> float:
    """Return the load average of the last minute; figures are unreliable if it is well above the number of cores."""
    return os.getloadavg()[0]


def _command_output(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
