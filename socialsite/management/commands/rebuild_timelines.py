"""manage.py rebuild_timelines [HANDLE ... | --all | --tags | --search]: rebuild caches from their sources."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser
from rich.console import Console
from rich.progress import Progress

from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.management.base import SiteCommand
from socialsite.startup import open_services
from socialsite.store.errors import StoreError

RebuildAccount = Callable[[AccountId], Awaitable[int]]


class Command(SiteCommand):
    help = (
        "Build home and list timelines of accounts anew; --all: every cached one, the public timeline, "
        "those of all hashtags and the search index; --tags, --search: these alone."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("handles", nargs="*", metavar="HANDLE", help="accounts, with or without @")
        parser.add_argument("--all", action="store_true", help="every cached timeline, public, tags and search")
        parser.add_argument("--tags", action="store_true", help="the timelines of all hashtags")
        parser.add_argument("--search", action="store_true", help="the search index")
        parser.add_argument("--dry-run", action="store_true", help="say what would be rebuilt")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen_count = [bool(options["handles"]), options["all"], options["tags"], options["search"]].count(True)
        if chosen_count == 0:
            raise CommandError("Name the accounts, or say --all, --tags or --search.")
        if chosen_count > 1:
            raise CommandError("Either accounts by name, or --all, --tags or --search: one of them at a time.")
        try:
            line = asyncio.run(self._run(options))
        except StoreError as error:
            raise CommandError(f"The store cannot be used: {error}") from error
        if options["verbosity"] > 0:
            self.stdout.write(line)

    async def _run(self, options: dict[str, Any]) -> str:
        async with open_services() as services:
            dry_run = options["dry_run"]
            quiet = options["verbosity"] == 0 or not Console(stderr=True).is_terminal
            if options["handles"]:
                return await _rebuild_named(services, options["handles"], dry_run=dry_run)
            rebuild = _rebuild_all if options["all"] else _rebuild_hashtags if options["tags"] else _rebuild_search
            return await rebuild(services, dry_run=dry_run, quiet=quiet)


async def _rebuild_named(services: Services, handles: list[str], *, dry_run: bool) -> str:
    ids = []
    for handle in handles:
        account = await services.accounts.find_by_handle(handle.removeprefix("@"))
        if account is None or account.state == "deleted":
            raise CommandError(f"There is no account @{handle.removeprefix('@')}.")
        ids.append(AccountId(account.id))
    if dry_run:
        return f"Would rebuild the timelines of {len(ids)} accounts."
    timelines = sum([await services.rebuilds.rebuild(account_id) for account_id in ids])
    return f"Rebuilt {timelines} timelines of {len(ids)} accounts."


async def _rebuild_all(services: Services, *, dry_run: bool, quiet: bool) -> str:
    ids = await _all_account_ids(services)
    if dry_run:
        return (
            f"Would rebuild what is cached of {len(ids)} accounts, the public timeline, all tags and the search index."
        )
    timelines = await _rebuild_each(ids, services.rebuilds.rebuild_cached, "Timelines", quiet=quiet)
    entries = await services.rebuilds.rebuild_public(ids)
    tags = await _rebuild_hashtags(services, dry_run=False, quiet=quiet)
    search = await _rebuild_search(services, dry_run=False, quiet=quiet)
    return f"Rebuilt {timelines} timelines, and the public one with {entries} entries. {tags} {search}"


async def _rebuild_hashtags(services: Services, *, dry_run: bool, quiet: bool) -> str:
    ids = await _all_account_ids(services)
    if dry_run:
        return f"Would put the posts of {len(ids)} accounts back under their tags."
    entries = await _rebuild_each(ids, services.rebuilds.rebuild_tags, "Tags", quiet=quiet)
    return f"Put {entries} entries back under their tags."


async def _rebuild_search(services: Services, *, dry_run: bool, quiet: bool) -> str:
    ids = await _all_account_ids(services)
    if dry_run:
        return f"Would put the names and posts of {len(ids)} accounts back into the search index."
    posts = await _rebuild_each(ids, services.rebuilds.rebuild_search, "Search", quiet=quiet)
    return f"Put {posts} posts of {len(ids)} accounts back into the search index."


async def _rebuild_each(ids: Sequence[AccountId], rebuild: RebuildAccount, description: str, *, quiet: bool) -> int:
    """Rebuild each account with a progress bar. Returns the sum of the results."""
    done = 0
    with Progress(disable=quiet, console=Console(stderr=True)) as progress:
        for account_id in progress.track(ids, description=description):
            done += await rebuild(account_id)
    return done


async def _all_account_ids(services: Services) -> list[AccountId]:
    last = await services.repositories.accounts.last_id()
    return [AccountId(number) for number in range(1, last + 1)]
