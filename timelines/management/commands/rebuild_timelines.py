"""manage.py rebuild_timelines [HANDLE ... | --all]: build cached timelines anew from their sources."""

import asyncio
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import Progress

from accounts.domain import AccountId
from socialsite.services import Services, open_services
from socialsite.store.errors import StoreError


class Command(BaseCommand):
    help = "Build home and list timelines of accounts anew; --all: every cached one, and the public timeline."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("handles", nargs="*", metavar="HANDLE", help="accounts, with or without @")
        parser.add_argument("--all", action="store_true", help="every cached timeline and the public one")
        parser.add_argument("--dry-run", action="store_true", help="say what would be rebuilt")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["handles"]) == options["all"]:
            raise CommandError("Name the accounts, or say --all.")
        try:
            line = asyncio.run(self._run(options))
        except StoreError as error:
            raise CommandError(f"The store cannot be used: {error}") from error
        if options["verbosity"] > 0:
            self.stdout.write(line)

    async def _run(self, options: dict[str, Any]) -> str:
        async with open_services() as services:
            if options["all"]:
                return await _all(services, dry_run=options["dry_run"], quiet=options["verbosity"] == 0)
            return await _named(services, options["handles"], dry_run=options["dry_run"])


async def _named(services: Services, handles: list[str], *, dry_run: bool) -> str:
    ids = []
    for handle in handles:
        account = await services.accounts.find_by_handle(handle.removeprefix("@"))
        if account is None or account.state == "deleted":
            raise CommandError(f"There is no account @{handle.removeprefix('@')}.")
        ids.append(AccountId(account.id))
    if dry_run:
        return f"Would rebuild the timelines of {len(ids)} accounts."
    timelines = sum([await services.rebuilding.rebuild(account_id) for account_id in ids])
    return f"Rebuilt {timelines} timelines of {len(ids)} accounts."


async def _all(services: Services, *, dry_run: bool, quiet: bool) -> str:
    ids = [AccountId(n) for n in range(1, await services.repositories.accounts.last_id() + 1)]
    if dry_run:
        return f"Would rebuild what is cached of {len(ids)} accounts, and the public timeline."
    timelines = 0
    with Progress(disable=quiet, console=Console(stderr=True)) as progress:
        for account_id in progress.track(ids, description="Timelines"):
            timelines += await services.rebuilding.rebuild_cached(account_id)
    entries = await services.rebuilding.rebuild_public(ids)
    return f"Rebuilt {timelines} timelines, and the public one with {entries} entries."
