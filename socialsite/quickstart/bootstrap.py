"""Prepare a quickstart before Django's settings are read: data directory, secret key, environment.

manage.py calls `prepare_environment` first. The child processes inherit the environment.
"""

import argparse
import contextlib
import os
import resource
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from socialsite.store.components import COMPONENTS
from socialsite.store.embedded.binaries import EmbeddedServerError
from socialsite.store.embedded.directory import ServerDirectory
from socialsite.translations import compile_translations

DEFAULT_DATA_DIRECTORY = Path(__file__).resolve().parents[2] / "data"
SECRET_KEY_FILE = "secret_key"  # noqa: S105  (a file's name)
OPEN_FILE_LIMITS = (65536, 10240, 4096)
"""Soft limits to try, highest first. Every websocket needs one file; macOS refuses more than 10,240."""


def prepare_environment(arguments: Sequence[str]) -> None:
    """Set the environment of a quickstart from its arguments. Exit if the directory cannot be used."""
    if {"-h", "--help"} & set(arguments):
        os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(50))
        return
    directory = parse_data_directory(arguments)
    os.umask(0o077)
    try:
        ServerDirectory(directory).create()
        key = load_secret_key(directory)
    except EmbeddedServerError as error:
        sys.exit(f"quickstart: {error}")
    except OSError as error:
        sys.exit(f"quickstart: {directory} cannot be used: {error.strerror}.")
    with contextlib.suppress(OSError):  # the folder is not writable; check W007 reports that the site is in English
        compile_translations()
    os.environ.setdefault("SECRET_KEY", key)
    os.environ.setdefault("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    os.environ.setdefault("STAFF_SECOND_FACTOR", "0")
    os.environ.setdefault("ALERT_BACKUP_AGE_HOURS", "0")
    os.environ.setdefault("MAIL_URL", "")  # mails are files, even if `.env` has the server of production
    # A quickstart uses one embedded server, even if `.env` has other URLs for production.
    os.environ |= {
        "REDIS_URL": f"embedded://{directory}",
        "STATIC_ROOT": str(directory / "static"),
        "METRICS_DIR": str(directory / "metrics"),
        "HTTPS": "0",
        **{f"REDIS_{component.upper()}_URL": "" for component in (*COMPONENTS, "cache")},
    }


def parse_data_directory(arguments: Sequence[str]) -> Path:
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA_DIRECTORY)
    with contextlib.suppress(argparse.ArgumentError):  # the command's own parser reports the error
        return Path(parser.parse_known_args(arguments)[0].data).expanduser().resolve()
    return DEFAULT_DATA_DIRECTORY


def load_secret_key(directory: Path) -> str:
    """Return the secret key of the directory. If the file is absent or empty, store a new key, which ends sessions."""
    file = directory / SECRET_KEY_FILE
    with contextlib.suppress(FileNotFoundError):
        if key := file.read_text().strip():
            return key
    new_file = file.with_suffix(".new")
    new_file.touch(0o600)
    new_file.write_text(secrets.token_urlsafe(50))
    new_file.replace(file)
    return file.read_text()


def raise_file_limit() -> None:
    """Raise the soft limit of open files as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in OPEN_FILE_LIMITS:
        if hard != resource.RLIM_INFINITY and limit > hard:
            limit = hard
        if soft == resource.RLIM_INFINITY or limit <= soft:
            return
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            return
