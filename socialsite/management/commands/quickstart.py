"""Run the whole site on this machine: Redis, worker, web server, and demo data on the first start."""

import asyncio
import json
from argparse import SUPPRESS, ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils.crypto import salted_hmac

from accounts.errors import HandleTaken
from accounts.roles import OWNER
from socialsite.ids import AccountId
from socialsite.management.base import SiteCommand
from socialsite.quickstart import site
from socialsite.startup import open_services
from socialsite.store.errors import StoreError

STAFF_HANDLE = "operator"
"""The demo's staff account, which may use /ops/."""

DemoLogin = tuple[str, str]
"""Handle and password. Demo accounts exist only on the loopback address, so their passwords are not secret."""


class Command(SiteCommand):
    """manage.py runs the supervisor without this class, unless Django has to parse the arguments."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        site.add_arguments(parser)
        # A child process of the supervisor: collect static files, load the demo, and end.
        parser.add_argument("--prepare", action="store_true", help=SUPPRESS)

    def handle(self, *args: Any, port: int, data: Path, no_demo: bool, prepare: bool, **options: Any) -> None:
        try:
            if prepare:
                self.prepare_start(data, demo=not no_demo)
            else:
                site.Quickstart(data, self.verbosity).run(port, demo=not no_demo)
        except (site.QuickstartError, StoreError) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{error.filename or data} cannot be used: {error.strerror}.") from error

    def prepare_start(self, directory: Path, *, demo: bool) -> None:
        call_command("collectstatic", interactive=False, verbosity=0)
        if demo and not (directory / "demo.json").exists():
            self.print_line("Putting demo accounts and posts into the empty site…")
        for handle, password in load_demo_logins(directory, create=demo):
            self.print_line(f"login: {handle} {password}", min_verbosity=0)
        if not settings.MAIL_URL:
            self.print_line(f"Mails are files in {settings.MAIL_ROOT}")


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
