"""Run the whole site on this machine: Redis, worker, web server, and demo data on the first start."""

import errno
import fcntl
import http.client
import os
import signal
import socket
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import IO, Any

from django.core.management import call_command
from django.core.management.base import CommandError

from socialsite.management.site_command import SiteCommand
from socialsite.quickstart import processes as parts
from socialsite.quickstart.bootstrap import DEFAULT_DATA_DIRECTORY, parse_data_directory, raise_file_limit
from socialsite.quickstart.child_process import TERMINATION_GRACE_S
from socialsite.quickstart.supervisor import Supervisor
from socialsite.store.embedded.server import EmbeddedServer
from socialsite.store.errors import StoreError

HOST = "127.0.0.1"
WAIT_NOTICE_INTERVAL_S = 15.0
"""Before the terminal says what the site waits for, and between such lines."""


class Command(SiteCommand):
    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="default 8000; 0 takes any free one")
        parser.add_argument("--data", type=Path, default=DEFAULT_DATA_DIRECTORY, metavar="DIR",
                            help="where the site keeps its data, default data/ beside manage.py")  # fmt: skip
        parser.add_argument("--no-demo", action="store_true", help="leave the site empty on the first start")

    def handle(self, *args: Any, port: int, data: Path, no_demo: bool, verbosity: int, **options: Any) -> None:
        directory = parse_data_directory(["--data", str(data)])
        self.verbosity = verbosity
        self.is_announced = False
        self.next_notice_s = time.monotonic() + WAIT_NOTICE_INTERVAL_S
        with lock_directory(directory), open_listener(port) as listening:
            self.address = listening.getsockname()[:2]
            raise_file_limit()
            supervisor = Supervisor(self.print_line)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.default_int_handler)
            try:
                self.run_processes(supervisor, directory, listening, demo=not no_demo)
            except StoreError as error:
                raise CommandError(str(error)) from error
            except KeyboardInterrupt:
                self.print_line("\nStopping…")
            finally:
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    signal.signal(number, signal.SIG_IGN)
                supervisor.stop()
        self.print_line("Stopped; the data is kept.")

    def run_processes(self, supervisor: Supervisor, directory: Path, listening: socket.socket, *, demo: bool) -> None:
        reading, _writing = parts.open_pipe()  # the writing end closes when we are gone
        supervisor.start([parts.RedisProcess(EmbeddedServer(directory))])
        call_command("collectstatic", interactive=False, verbosity=0)
        self.print_demo_logins(directory, demo=demo)
        supervisor.start([parts.make_worker_process(reading), parts.make_web_process(reading, listening.fileno())])
        supervisor.run(self.announce_readiness)

    def print_demo_logins(self, directory: Path, *, demo: bool) -> None:
        from socialsite.management.demo import load_demo_logins

        if demo and not (directory / "demo.json").exists():
            self.print_line("Putting demo accounts and posts into the empty site…")
        for handle, password in load_demo_logins(directory, is_wanted=demo):
            self.stdout.write(f"login: {handle} {password}")

    def announce_readiness(self) -> None:
        """Say once that the site answers, and meanwhile now and then what it waits for."""
        if self.is_announced:
            return
        reason = get_unready_reason(self.address)
        if reason is None:
            self.is_announced = True
            self.stdout.write(f"Ready: http://{HOST}:{self.address[1]}")
            self.stdout.flush()
        elif time.monotonic() > self.next_notice_s:
            self.next_notice_s = time.monotonic() + WAIT_NOTICE_INTERVAL_S
            self.print_line(f"The site is not ready yet: {reason}")

    def print_line(self, text: str) -> None:
        if self.verbosity:
            self.stdout.write(text)
            self.stdout.flush()


def lock_directory(directory: Path) -> IO[bytes]:
    """Keep a second quickstart off this directory; the kernel lets go of the lock whatever becomes of us."""
    lock = (directory / "quickstart.lock").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise CommandError(f"A quickstart already runs on {directory}.") from error
    return lock


def open_listener(port: int) -> socket.socket:
    """The site's socket; it outlives every web process."""
    until = time.monotonic() + TERMINATION_GRACE_S + 1  # a web process whose supervisor was killed may still be ending
    while True:
        try:
            return socket.create_server((HOST, port), backlog=512)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > until:
                reason = os.strerror(error.errno or 0)
                raise CommandError(f"Port {port} cannot be used ({reason}); choose one by --port.") from error
        time.sleep(0.1)


def get_unready_reason(address: tuple[str, int]) -> str | None:
    """None when /readyz says ok, else its answer or why there is none."""
    connection = http.client.HTTPConnection(*address, timeout=2)
    try:
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        return None if response.status == 200 else response.read(2000).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    finally:
        connection.close()
