"""manage.py repartition --to URL: move the data of a running site to another store (docs/reference/migration.md)."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from rich.console import Console
from rich.progress import Progress

from socialsite.management.site_command import SiteCommand
from socialsite.migration import commands as operation
from socialsite.migration.commands import MigrationSite
from socialsite.migration.estimate import Estimate
from socialsite.migration.progress import MigrationProgress, MigrationReport, OnProgress
from socialsite.migration.repartitioner import OLD_PARTITIONS_GRACE_S, EdgeFamily
from socialsite.startup import component_urls, partitions_key
from socialsite.store.embedded.server import EmbeddedServer
from socialsite.store.errors import StoreError
from socialsite.store.factory import COMPONENTS, create_topology

BYTES_PER_MB = 1_000_000
MAX_PARTITIONS = 4_096
FOLLOW_EDGES = EdgeFamily("follows", {"following": "followers", "members": "listed"}, partitions_key())


class Command(SiteCommand):
    help = "Move the data to another store, or follow edges to other partitions, while the site serves."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--to", metavar="URL", help="the store that the data moves to")
        what.add_argument("--follow-partitions", type=int, metavar="N", help="cut follow edges into N partitions")
        what.add_argument("--resume", action="store_true", help="go on with a move that was interrupted")
        what.add_argument("--back", action="store_true", help="bring back what an interrupted move has moved")
        parser.add_argument("--component", choices=COMPONENTS, help="with --to: move this component only")
        parser.add_argument("--dry-run", action="store_true", help="count what would move, change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["component"] and not options["to"]:
            raise CommandError("--component goes with --to: say where it shall stand.")
        self.verbosity = options["verbosity"]
        try:
            asyncio.run(self._run(options))
        except StoreError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError("Stopped: go on with --resume, or back with --back.") from None

    async def _run(self, options: dict[str, Any]) -> None:
        site = MigrationSite(
            settings.REDIS_URL, component_urls(), COMPONENTS, create_topology, settings.REQUIRE_REPLICAS
        )
        if options["to"]:
            to = absolute_url(options["to"])
            if options["dry_run"]:
                return self._print_estimate(await operation.estimate_migration(site, to, options["component"]))
            return await self._run_migration(
                lambda on_step: operation.migrate(site, to, options["component"], on_progress=on_step)
            )
        if options["follow_partitions"] is not None:
            return await self._repartition_edges(site, options["follow_partitions"], dry=options["dry_run"])
        if options["dry_run"]:
            raise CommandError("--dry-run goes with --to or --follow-partitions.")
        if options["resume"]:
            return await self._run_migration(lambda on_step: operation.resume_migration(site, on_progress=on_step))
        return await self._run_migration(lambda on_step: operation.revert_migration(site, on_progress=on_step))

    async def _repartition_edges(self, site: MigrationSite, count: int, *, dry: bool) -> None:
        if not 1 <= count <= MAX_PARTITIONS:
            raise CommandError(f"The number of follow partitions is 1 to {MAX_PARTITIONS}.")
        if dry:
            edges = _format_edges(await operation.count_edges(site, FOLLOW_EDGES, count))
            self._print_line(f"Dry run: {edges} would be cut into {count} partitions; nothing was changed.")
            return
        self._print_line("This takes two minutes more than the copying: the last readers are waited for.", at=2)
        done = await operation.repartition_edges(site, FOLLOW_EDGES, count, grace_s=OLD_PARTITIONS_GRACE_S)
        edges = _format_edges(done.edges)
        self._print_line(f"Cut the follow edges into {count} partitions ({edges}); now set FOLLOW_PARTITIONS={count}.")

    async def _run_migration(self, begin: Callable[[OnProgress], Any]) -> None:
        console = Console(stderr=True)
        quiet = self.verbosity == 0 or not console.is_terminal
        with Progress(console=console, disable=quiet, transient=True) as progress:
            task = progress.add_task("Slices", total=None)

            def on_step(step: MigrationProgress) -> None:
                if step.total_slices:
                    progress.update(task, completed=step.done_slices, total=step.total_slices)

            report: MigrationReport = await begin(on_step)
        self._print_report(report)

    def _print_report(self, report: MigrationReport) -> None:
        tally = report.statistics
        for family in sorted(tally.keys):
            size, checksum = tally.bytes[family], tally.checksums[family]
            self._print_line(f"{family}: {tally.keys[family]} keys, {size} bytes, checksum {checksum:08x}", at=2)
        again = f", {report.retries} tries repeated" if report.retries else ""
        self._print_line(
            f"Moved {tally.keys.total()} keys ({tally.bytes.total() / BYTES_PER_MB:.1f} MB) "
            f"in {report.migrated_slices} slices, each compared with its source{again}."
        )
        if report.unreported_keys:
            raise CommandError(
                f"{len(report.unreported_keys)} keys were written at the old store by nobody known, and left there; "
                f"the first is {report.unreported_keys[0]}: look at them"
            )

    def _print_estimate(self, survey: Estimate) -> None:
        for family in sorted(survey.keys):
            self._print_line(
                f"{family}: {survey.keys[family]} keys, about {survey.bytes[family] / BYTES_PER_MB:.1f} MB"
            )
        self._print_line(
            f"Dry run: {survey.keys.total()} keys, about {survey.bytes.total() / BYTES_PER_MB:.1f} MB would move in "
            f"{survey.slices} slices, in about {survey.seconds:.0f} s; nothing was changed."
        )

    def _print_line(self, text: str, *, at: int = 1) -> None:
        if self.verbosity >= at:
            self.stdout.write(text)


def _format_edges(edges: Mapping[str, int]) -> str:
    """Edges by the name of their outgoing side."""
    return ", ".join(f"{number} of {name}" for name, number in sorted(edges.items()))


def absolute_url(url: str) -> str:
    """As every process of the site can use it. An embedded server has to live longer than this command."""
    scheme, _, rest = url.partition("://")
    if scheme != "embedded":
        return url
    directory = Path(rest).expanduser().resolve()
    if not EmbeddedServer(directory).is_running():
        raise CommandError(f"No server runs in {directory}: start it, it has to live longer than this command.")
    return f"embedded://{directory}"
