"""A small file system that a test fills."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

AS_ROOT = [] if os.getuid() == 0 else ["sudo", "-n"]


class SmallDisk:
    """A file system; the file `ballast` fills it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._ballast = directory / "ballast"

    def fill(self, leave_bytes: int) -> None:
        stat = os.statvfs(self.directory)
        with self._ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, stat.f_bavail * stat.f_frsize - leave_bytes))

    def empty(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextlib.contextmanager
def mounted_disk(megabytes: int) -> Iterator[SmallDisk]:
    with tempfile.TemporaryDirectory(prefix="disk-", dir="/tmp") as directory:
        options = f"size={megabytes}m,uid={os.getuid()}"
        mount = [*AS_ROOT, "mount", "-t", "tmpfs", "-o", options, "tmpfs", directory]
        if not shutil.which(mount[0]) or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("a small disk is mounted by root, or with sudo that asks for no password")
        try:
            yield SmallDisk(Path(directory))
        finally:
            subprocess.run([*AS_ROOT, "umount", "-l", directory], check=True)
