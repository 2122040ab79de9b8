"""Run the whole site on this machine: Redis, worker, web server, and demo data on the first start."""

import asyncio
import errno
import fcntl
import http.client
import json
import os
import signal
import socket
import sys
import time
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils.crypto import salted_hmac

from accounts.errors import HandleTaken
from accounts.roles import OWNER
from socialsite.ids import AccountId
from socialsite.management.base import SiteCommand
from socialsite.quickstart.bootstrap import DEFAULT_DATA_DIRECTORY, parse_data_directory, raise_file_limit
from socialsite.quickstart.child_process import TERMINATION_GRACE_S
from socialsite.quickstart.supervisor import RedisProcess, Supervisor, make_web_process, make_worker_process
from socialsite.startup import open_services
from socialsite.store.embedded.server import EmbeddedServer
from socialsite.store.errors import StoreError

HOST = "127.0.0.1"
STAFF_HANDLE = "operator"
"""The demo's staff account, which may use /ops/."""
WAIT_NOTICE_INTERVAL_S = 15.0
"""Time before the first message that the site is not ready, and between such messages."""

DemoLogin = tuple[str, str]
"""Handle and password. Demo accounts exist only on the loopback address, so their passwords are not secret."""


class Command(SiteCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="default 8000; 0 takes any free one")
        parser.add_argument("--data", type=Path, default=DEFAULT_DATA_DIRECTORY, metavar="DIR",
                            help="where the site keeps its data, default data/ beside manage.py")  # fmt: skip
        parser.add_argument("--no-demo", action="store_true", help="leave the site empty on the first start")

    def handle(self, *args: Any, port: int, data: Path, no_demo: bool, **options: Any) -> None:
        directory = parse_data_directory(["--data", str(data)])
        self.is_announced = False
        self.has_reader = True
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
            except OSError as error:
                raise CommandError(f"{error.filename or directory} cannot be used: {error.strerror}.") from error
            except KeyboardInterrupt:
                self.print_line("\nStopping…")
            finally:
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    signal.signal(number, signal.SIG_IGN)
                supervisor.stop()
        self.print_line("Stopped; the data is kept.")

    def run_processes(self, supervisor: Supervisor, directory: Path, listening: socket.socket, *, demo: bool) -> None:
        reading, _writing = os.pipe()  # the kernel closes the writing end when this process ends
        supervisor.start([RedisProcess(EmbeddedServer(directory))])
        call_command("collectstatic", interactive=False, verbosity=0)
        self.print_demo_logins(directory, demo=demo)
        os.environ.setdefault("SITE_URL", f"http://localhost:{self.address[1]}")  # of links in mails
        if not settings.MAIL_URL:
            self.print_line(f"Mails are files in {settings.MAIL_ROOT}")
        supervisor.start([make_worker_process(reading), make_web_process(reading, listening.fileno())])
        supervisor.run(self.announce_readiness)

    def print_demo_logins(self, directory: Path, *, demo: bool) -> None:
        if demo and not (directory / "demo.json").exists():
            self.print_line("Putting demo accounts and posts into the empty site…")
        for handle, password in load_demo_logins(directory, create=demo):
            self.print_line(f"login: {handle} {password}", min_verbosity=0)

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
        if self.has_reader:
            try:
                super().print_line(text, min_verbosity=min_verbosity)
            except BrokenPipeError:
                self.has_reader = False
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python also flushes stdout at exit


def load_demo_logins(directory: Path, *, create: bool) -> list[DemoLogin]:
    """Return the demo logins of a directory. If `create`, load the demo at the first start.

    The demo is never loaded into a site that was started before. An interrupted load is repeated by the next start.
    """
    file = directory / "demo.json"
    if not file.exists():
        logins = asyncio.run(_load_demo()) if create else []
        file.write_text(json.dumps({"logins": logins}))
    return [(handle, password) for handle, password in json.loads(file.read_text())["logins"]]


async def _load_demo() -> list[DemoLogin]:
    async with open_services() as services:
        now_ms = services.clock.now_ms()
        logins = await services.demo.load(now_ms)
        # The password is secret, because other people may reach the port through a tunnel.
        password = salted_hmac("demo", STAFF_HANDLE).hexdigest()[:16]
        with suppress(HandleTaken):  # an interrupted load created the account
            await services.accounts.sign_up(handle=STAFF_HANDLE, password=password, now_ms=now_ms, allow_reserved=True)
        account = await services.accounts.get_by_handle(STAFF_HANDLE)
        await services.staff.set_role(AccountId(account.id), OWNER)
        return [*logins, (STAFF_HANDLE, password)]


def lock_directory(directory: Path) -> IO[bytes]:
    """Lock the directory against a second quickstart. The kernel releases the lock when this process ends.

    Raises CommandError if another quickstart uses the directory.
    """
    try:
        lock = (directory / "quickstart.lock").open("ab")
    except OSError as error:
        raise CommandError(f"{directory} cannot be used: {error.strerror}.") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise CommandError(f"A quickstart already runs on {directory}.") from error
    return lock


def open_listener(port: int) -> socket.socket:
    """Open the site's listening socket, which outlives every web process. Raises CommandError."""
    # If the last supervisor was killed, its web process may use the port for a few more seconds.
    deadline = time.monotonic() + TERMINATION_GRACE_S + 1
    while True:
        try:
            return socket.create_server((HOST, port), backlog=512)
        except OverflowError:
            raise CommandError(f"--port takes a number from 0 to 65535, not {port}.") from None
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                reason = os.strerror(error.errno or 0)
                raise CommandError(f"Port {port} cannot be used ({reason}); choose one by --port.") from error
        time.sleep(0.1)


def get_unready_reason(address: tuple[str, int]) -> str | None:
    """Return None if /readyz answers 200, otherwise its answer or the connection error."""
    connection = http.client.HTTPConnection(*address, timeout=2)
    try:
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        return None if response.status == 200 else response.read(2000).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    finally:
        connection.close()
