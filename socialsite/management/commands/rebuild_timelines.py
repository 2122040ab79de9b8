"""manage.py rebuild_timelines [HANDLE ... | --all | --tags | --search]: rebuild caches from their sources."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser

from socialsite.batches import batches
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.management.base import OperatorCommand, count_of
from timelines.fanout.rebuild_timelines import RebuildService

ACCOUNTS_PER_STEP = 100  # of the progress bar
DRY_RUNS = {
    "all": "Would rebuild what is cached of {}, the public timeline, all tags and the search index.",
    "tags": "Would put the posts of {} back under their tags.",
    "search": "Would put the names and posts of {} back into the search index.",
}
RebuildAccounts = Callable[[Sequence[AccountId]], Awaitable[int]]


class Command(OperatorCommand):
    help = (
        "Rebuild the home and list timelines of accounts. --all: all cached timelines, the public timeline, "
        "the timelines of all hashtags and the search index."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("handles", nargs="*", metavar="HANDLE", help="accounts, with or without @")
        parser.add_argument("--all", action="store_true", help="every cached timeline, public, tags and search")
        parser.add_argument("--tags", action="store_true", help="the timelines of all hashtags")
        parser.add_argument("--search", action="store_true", help="the search index")
        parser.add_argument("--dry-run", action="store_true", help="say what would be rebuilt")

    def prepare_options(self, options: dict[str, Any]) -> None:
        chosen_count = [bool(options["handles"]), options["all"], options["tags"], options["search"]].count(True)
        if chosen_count == 0:
            raise CommandError("Name the accounts, or say --all, --tags or --search.")
        if chosen_count > 1:
            raise CommandError("Either accounts by name, or --all, --tags or --search: one of them at a time.")

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        if options["handles"]:
            self.print_line(await _rebuild_named(services, options["handles"], dry_run=options["dry_run"]))
            return
        last_id = await services.repositories.accounts.last_id()
        ids = [AccountId(number) for number in range(1, last_id + 1)]
        choice = next(name for name in DRY_RUNS if options[name])
        if options["dry_run"]:
            self.print_line(DRY_RUNS[choice].format(count_of(len(ids), "account")))
            return
        rebuild = {"all": self._rebuild_all, "tags": self._rebuild_tags, "search": self._rebuild_search}[choice]
        self.print_line(await rebuild(services.rebuilds, ids))

    async def _rebuild_all(self, rebuilds: RebuildService, ids: Sequence[AccountId]) -> str:
        timelines = await self._rebuild_each(ids, rebuilds.rebuild_cached, "Timelines")
        entries = await rebuilds.rebuild_public(ids)
        others = f"{await self._rebuild_tags(rebuilds, ids)} {await self._rebuild_search(rebuilds, ids)}"
        public = f"the public one with {count_of(entries, 'entry', 'entries')}"
        return f"Rebuilt {count_of(timelines, 'timeline')}, and {public}. {others}"

    async def _rebuild_tags(self, rebuilds: RebuildService, ids: Sequence[AccountId]) -> str:
        entries = await self._rebuild_each(ids, rebuilds.rebuild_tags, "Tags")
        return f"Put {count_of(entries, 'entry', 'entries')} back under their tags."

    async def _rebuild_search(self, rebuilds: RebuildService, ids: Sequence[AccountId]) -> str:
        posts = await self._rebuild_each(ids, rebuilds.rebuild_search, "Search")
        return f"Put {count_of(posts, 'post')} of {count_of(len(ids), 'account')} back into the search index."

    async def _rebuild_each(self, ids: Sequence[AccountId], rebuild: RebuildAccounts, description: str) -> int:
        """Rebuild the accounts with a progress bar. Returns the sum of the results."""
        done = 0
        with self.progress_bar(description, len(ids)) as step:
            for batch in batches(ids, ACCOUNTS_PER_STEP):
                done += await rebuild(batch)
                step(len(batch))
        return done


async def _rebuild_named(services: Services, handles: list[str], *, dry_run: bool) -> str:
    ids = []
    for handle in handles:
        account = await services.accounts.find_by_handle(handle.removeprefix("@"))
        if account is None or account.state == "deleted":
            raise CommandError(f"There is no account @{handle.removeprefix('@')}.")
        ids.append(AccountId(account.id))
    if dry_run:
        return f"Would rebuild the timelines of {count_of(len(ids), 'account')}."
    timelines = sum([await services.rebuilds.rebuild(account_id) for account_id in ids])
    return f"Rebuilt {count_of(timelines, 'timeline')} of {count_of(len(ids), 'account')}."
