"""manage.py repartition: migrate a running site to another store, or repartition its follow edges.

See docs/reference/migration.md.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from socialsite.management.base import SiteCommand, count_of
from socialsite.migration import commands as operation
from socialsite.migration.commands import MigrationSite
from socialsite.migration.errors import RepartitionUnfinished
from socialsite.migration.estimate import Estimate
from socialsite.migration.progress import MigrationReport, OnProgress
from socialsite.migration.repartitioner import OLD_PARTITIONS_GRACE_S, EdgeFamily
from socialsite.startup import component_urls
from socialsite.store.address import with_redis_scheme
from socialsite.store.components import COMPONENTS
from socialsite.store.embedded.server import EmbeddedServer
from socialsite.store.errors import StoreError
from socialsite.store.factory import create_topology
from timelines import keys

BYTES_PER_MB = 1_000_000
MAX_PARTITIONS = 4_096
FOLLOW_EDGES = EdgeFamily("follows", {"following": "followers", "members": "listed"}, keys.follow_partitions())


class Command(SiteCommand):
    help = "Move the data to another store, or follow edges to other partitions, while the site serves."

    def add_arguments(self, parser: CommandParser) -> None:
        action = parser.add_mutually_exclusive_group(required=True)
        action.add_argument("--to", metavar="URL", help="the store that the data moves to")
        action.add_argument(
            "--follow-partitions", type=int, metavar="N", help="change the number of partitions of follow edges"
        )
        action.add_argument("--resume", action="store_true", help="continue an interrupted move")
        action.add_argument("--back", action="store_true", help="move the data of an interrupted move back")
        parser.add_argument("--component", choices=COMPONENTS, help="with --to: move this component only")
        parser.add_argument("--dry-run", action="store_true", help="count what would move, change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["component"] and not options["to"]:
            raise CommandError("--component needs --to: name the store that it moves to.")
        try:
            asyncio.run(self._run(options))
        except RepartitionUnfinished as error:
            step = "repeat" if options["resume"] else "finish that by"
            raise CommandError(
                f"the follow edges are being repartitioned: {step} the same --follow-partitions"
            ) from error
        except StoreError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError("Stopped: continue with --resume, or revert with --back.") from None

    async def _run(self, options: dict[str, Any]) -> None:
        site = MigrationSite(
            settings.REDIS_URL, component_urls(), COMPONENTS, create_topology, settings.REQUIRE_REPLICAS
        )
        if options["to"]:
            target_url = absolute_url(options["to"])
            if options["dry_run"]:
                return self._print_estimate(await operation.estimate_migration(site, target_url, options["component"]))
            return await self._run_migration(
                lambda report: operation.migrate(site, target_url, options["component"], on_progress=report)
            )
        if options["follow_partitions"] is not None:
            return await self._repartition_edges(site, options["follow_partitions"], dry=options["dry_run"])
        if options["dry_run"]:
            raise CommandError("--dry-run needs --to or --follow-partitions.")
        if options["resume"]:
            return await self._run_migration(lambda report: operation.resume_migration(site, on_progress=report))
        return await self._run_migration(lambda report: operation.revert_migration(site, on_progress=report))

    async def _repartition_edges(self, site: MigrationSite, count: int, *, dry: bool) -> None:
        if not 1 <= count <= MAX_PARTITIONS:
            raise CommandError(f"The number of follow partitions is 1 to {MAX_PARTITIONS}.")
        if dry:
            edges = _format_edges(await operation.count_edges(site, FOLLOW_EDGES, count))
            self.print_line(f"Dry run: {edges} would be cut into {count} partitions; nothing was changed.")
            return
        self.print_line(
            "This takes two minutes more than the copying: the last readers are waited for.", min_verbosity=2
        )
        report = await operation.repartition_edges(site, FOLLOW_EDGES, count, grace_s=OLD_PARTITIONS_GRACE_S)
        edges = _format_edges(report.edges)
        self.print_line(f"Cut the follow edges into {count} partitions ({edges}); now set FOLLOW_PARTITIONS={count}.")

    async def _run_migration(self, run: Callable[[OnProgress], Any]) -> None:
        with self.open_progress() as progress:
            task = progress.add_task("Slices", total=None)
            report: MigrationReport = await run(
                lambda step: progress.update(task, completed=step.done_slices, total=step.total_slices or None)
            )
        self._print_report(report)

    def _print_report(self, report: MigrationReport) -> None:
        copied = report.statistics
        for family in sorted(copied.keys):
            size, checksum = copied.bytes[family], copied.checksums[family]
            self.print_line(
                f"{family}: {copied.keys[family]} keys, {size} bytes, checksum {checksum:08x}", min_verbosity=2
            )
        again = f", {report.retries} tries repeated" if report.retries else ""
        self.print_line(
            f"Moved {count_of(copied.keys.total(), 'key')} ({copied.bytes.total() / BYTES_PER_MB:.1f} MB) "
            f"in {count_of(report.migrated_slices, 'slice')}, each compared with its source{again}."
        )
        if report.unreported_keys:
            raise CommandError(
                f"{len(report.unreported_keys)} keys were written to the old store by an unknown process and left "
                f"there; the first is {report.unreported_keys[0]}: examine them"
            )

    def _print_estimate(self, estimate: Estimate) -> None:
        for family in sorted(estimate.keys):
            self.print_line(
                f"{family}: {estimate.keys[family]} keys, about {estimate.bytes[family] / BYTES_PER_MB:.1f} MB"
            )
        self.print_line(
            f"Dry run: {estimate.keys.total()} keys, about {estimate.bytes.total() / BYTES_PER_MB:.1f} MB would move "
            f"in {estimate.slices} slices, in about {estimate.seconds:.0f} s; nothing was changed."
        )


def _format_edges(edges: Mapping[str, int]) -> str:
    return ", ".join(f"{number} of {name}" for name, number in sorted(edges.items()))


def absolute_url(url: str) -> str:
    """Return a URL that is valid in every process. Raises CommandError if an embedded server does not run.

    An embedded server must run longer than this command, so the command does not start one.
    """
    scheme, _, rest = url.partition("://")
    if scheme != "embedded":
        return with_redis_scheme(url)
    directory = Path(rest).expanduser().resolve()
    if not EmbeddedServer(directory).is_running():
        raise CommandError(f"No server runs in {directory}: start it, because it has to run longer than this command.")
    return f"embedded://{directory}"
