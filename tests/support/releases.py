"""Unpack an earlier release of the site from the project's git history."""

import subprocess
from pathlib import Path

from tests.support.daphnes import ROOT

PREVIOUS = "93ae5cb"
"""The last commit before the modules were moved to one folder per feature."""


def unpack_release(commit: str, directory: Path) -> Path:
    """Write the files of a commit to `directory`. Raises CalledProcessError if the clone lacks the commit."""
    archive = directory.with_suffix(".tar")
    directory.mkdir()
    subprocess.run(["git", "archive", "-o", str(archive), commit], cwd=ROOT, check=True)
    subprocess.run(["tar", "-xf", str(archive), "-C", str(directory)], check=True)
    archive.unlink()
    return directory
