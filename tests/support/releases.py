"""An earlier release of the site, unpacked from the project's own history."""

import subprocess
from pathlib import Path

from tests.support.site import ROOT

BEFORE_BOOSTS = "a512ec5"
"""Knows posts, homes, lists and hashtags, but no boosts, likes, blocks, audiences and notifications."""


def has_commit(commit: str) -> bool:
    """False in a checkout without this history, as a shallow clone is."""
    known = subprocess.run(["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True)
    return known.returncode == 0


def unpack_release(commit: str, directory: Path) -> Path:
    """`directory`, with the files of that commit."""
    archive = directory.with_suffix(".tar")
    directory.mkdir()
    subprocess.run(["git", "archive", "-o", str(archive), commit], cwd=ROOT, check=True)
    subprocess.run(["tar", "-xf", str(archive), "-C", str(directory)], check=True)
    archive.unlink()
    return directory
