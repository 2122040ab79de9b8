"""The supervisor of `manage.py quickstart`. It imports neither Django nor redis, because it only watches.

The process factory loads the site (process_factory.py). Where it cannot run, each process loads the site.
"""

import argparse
import errno
import fcntl
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from socialsite.quickstart.bootstrap import DEFAULT_DATA_DIRECTORY, parse_data_directory, raise_file_limit
from socialsite.quickstart.child_process import TERMINATION_GRACE_S
from socialsite.quickstart.process_factory import adopt_orphans
from socialsite.quickstart.supervisor import (
    ChildProcess,
    ProcessFactory,
    RedisProcess,
    Supervisor,
    make_web_process,
    make_worker_process,
)
from socialsite.store.embedded.server import EmbeddedServer
from socialsite.store.errors import StoreError

HOST = "127.0.0.1"
WAIT_NOTICE_INTERVAL_S = 15.0
"""Time before the first message that the site is not ready, and between such messages."""
READINESS_TIMEOUT_S = 2.0
MAX_ANSWER_BYTES = 3000


class QuickstartError(Exception):
    """The site cannot be started. The message is one sentence for the user."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=8000, help="default 8000; 0 takes any free one")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA_DIRECTORY, metavar="DIR",
                        help="where the site keeps its data, default data/ beside manage.py")  # fmt: skip
    parser.add_argument("--no-demo", action="store_true", help="leave the site empty on the first start")


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace | None:
    """Return the options, or None if Django's parser has to answer: for --help, errors and Django's own options."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    add_arguments(parser)
    parser.add_argument("-v", "--verbosity", type=int, choices=range(4), default=1)
    with suppress(argparse.ArgumentError):
        options, rest = parser.parse_known_args(arguments)
        return None if rest else options
    return None


def run_without_django(arguments: Sequence[str]) -> None:
    """Run the site until it is stopped, then exit. Returns only if Django has to parse the arguments."""
    if options := parse_arguments(arguments):
        try:
            Quickstart(options.data, options.verbosity).run(options.port, demo=not options.no_demo)
        except QuickstartError as error:
            sys.exit(f"CommandError: {error}")
        sys.exit()


class Quickstart:
    """A site on one data directory."""

    def __init__(self, data: Path, verbosity: int) -> None:
        self.directory = parse_data_directory(["--data", str(data)])
        self.verbosity = verbosity
        self.is_announced = False
        self.has_reader = True
        self.next_notice_s = time.monotonic() + WAIT_NOTICE_INTERVAL_S

    def run(self, port: int, *, demo: bool) -> None:
        """Run the site until SIGINT, SIGTERM or SIGHUP. Raises QuickstartError."""
        with lock_directory(self.directory), open_listener(port) as listening:
            self.address = listening.getsockname()[:2]
            raise_file_limit()
            supervisor = Supervisor(self.print_line)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.default_int_handler)
            try:
                self.run_processes(supervisor, listening, demo=demo)
            except StoreError as error:
                raise QuickstartError(str(error)) from error
            except OSError as error:
                raise QuickstartError(
                    f"{error.filename or self.directory} cannot be used: {error.strerror}."
                ) from error
            except KeyboardInterrupt:
                self.print_line("\nStopping…")
            finally:
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    signal.signal(number, signal.SIG_IGN)
                supervisor.stop()
        self.print_line("Stopped; the data is kept.")

    def run_processes(self, supervisor: Supervisor, listening: socket.socket, *, demo: bool) -> None:
        reading, _writing = os.pipe()  # the kernel closes the writing end when this process ends
        os.environ.setdefault("SITE_URL", f"http://localhost:{self.address[1]}")  # for the links in mails
        factory = ProcessFactory([reading, listening.fileno()]) if adopt_orphans() else None
        supervisor.start([factory] if factory else [])
        supervisor.start([RedisProcess(EmbeddedServer(self.directory))])
        options = ["--data", str(self.directory), "--verbosity", str(self.verbosity), *([] if demo else ["--no-demo"])]
        words = ["preparation", "quickstart", "--prepare", *options]
        if supervisor.run_to_end(ChildProcess("preparation", words, reading, factory=factory)) != 0:
            sys.exit(1)  # the preparation, or the factory, has printed the reason
        web = make_web_process(reading, listening.fileno(), factory)
        supervisor.start([make_worker_process(reading, factory), web])
        supervisor.run(self.announce_readiness)

    def announce_readiness(self) -> None:
        """Print once that the site is ready. Until then, print from time to time why it is not."""
        if self.is_announced:
            return
        reason = get_unready_reason(self.address)
        if reason is None:
            self.is_announced = True
            self.print_line(f"Ready: http://{HOST}:{self.address[1]}", min_verbosity=0)
        elif time.monotonic() > self.next_notice_s:
            self.next_notice_s = time.monotonic() + WAIT_NOTICE_INTERVAL_S
            self.print_line(f"The site is not ready yet: {reason}")

    def print_line(self, text: str, *, min_verbosity: int = 1) -> None:
        """Print a line. If the reader of stdout has closed the pipe, the site continues without output."""
        if self.has_reader and self.verbosity >= min_verbosity:
            try:
                print(text, flush=True)  # noqa: T201
            except BrokenPipeError:
                self.has_reader = False
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python also flushes stdout at exit


def lock_directory(directory: Path) -> IO[bytes]:
    """Lock the directory against a second quickstart. The kernel releases the lock when this process ends.

    Raises QuickstartError if another quickstart uses the directory.
    """
    try:
        lock = (directory / "quickstart.lock").open("ab")
    except OSError as error:
        raise QuickstartError(f"{directory} cannot be used: {error.strerror}.") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise QuickstartError(f"A quickstart already runs on {directory}.") from error
    return lock


def open_listener(port: int) -> socket.socket:
    """Open the site's listening socket, which outlives every web process. Raises QuickstartError."""
    # If the last supervisor was killed, its web process may use the port for a few more seconds.
    deadline = time.monotonic() + TERMINATION_GRACE_S + 1
    while True:
        try:
            return socket.create_server((HOST, port), backlog=512)
        except OverflowError:
            raise QuickstartError(f"--port takes a number from 0 to 65535, not {port}.") from None
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                reason = os.strerror(error.errno or 0)
                raise QuickstartError(f"Port {port} cannot be used ({reason}); choose one by --port.") from error
        time.sleep(0.1)


def get_unready_reason(address: tuple[str, int]) -> str | None:
    """Return None if /readyz answers 200, otherwise its answer or the connection error.

    http.client would import 6 MB into the process that watches.
    """
    try:
        with socket.create_connection(address, READINESS_TIMEOUT_S) as connection:
            connection.sendall(f"GET /readyz HTTP/1.0\r\nHost: {HOST}:{address[1]}\r\n\r\n".encode())
            head, _, body = connection.makefile("rb").read(MAX_ANSWER_BYTES).partition(b"\r\n\r\n")
    except OSError as error:
        return str(error) or type(error).__name__
    if head.split(b" ")[1:2] == [b"200"]:
        return None
    return body.decode(errors="replace") or "no answer"
