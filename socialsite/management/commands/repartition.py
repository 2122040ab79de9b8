"""manage.py repartition --to URL: move the data of a running site to another store (docs/moving.md)."""

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
from socialsite.migration.commands import Edges, Site
from socialsite.migration.estimate import Survey
from socialsite.migration.mover import Report
from socialsite.migration.progress import OnStep, Step
from socialsite.migration.repartitioning import GRACE_S
from socialsite.services import partitions_key, placed_urls
from socialsite.store.embedded import EmbeddedServer
from socialsite.store.errors import StoreError
from socialsite.store.factory import COMPONENTS, topology_of

MB = 1_000_000
MOST_PARTITIONS = 4_096
FOLLOW_EDGES = Edges("follows", {"following": "followers", "members": "listed"}, partitions_key())


class Command(SiteCommand):
    help = "Move the data to another store, or follow edges to other partitions, while the site serves."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--to", metavar="URL", help="the store that the data moves to")
        what.add_argument(
            "--follow-partitions", type=int, metavar="N", help="cut follow edges into N partitions"
        )
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
        site = Site(settings.REDIS_URL, placed_urls(), COMPONENTS, topology_of, settings.REQUIRE_REPLICAS)
        if options["to"]:
            to = whole_url(options["to"])
            if options["dry_run"]:
                return self._tell(await operation.look(site, to, options["component"]))
            return await self._move(
                lambda on_step: operation.move(site, to, options["component"], on_step=on_step)
            )
        if options["follow_partitions"] is not None:
            return await self._reshape(site, options["follow_partitions"], dry=options["dry_run"])
        if options["dry_run"]:
            raise CommandError("--dry-run goes with --to or --follow-partitions.")
        if options["resume"]:
            return await self._move(lambda on_step: operation.resume(site, on_step=on_step))
        return await self._move(lambda on_step: operation.back(site, on_step=on_step))

    async def _reshape(self, site: Site, count: int, *, dry: bool) -> None:
        if not 1 <= count <= MOST_PARTITIONS:
            raise CommandError(f"The number of follow partitions is 1 to {MOST_PARTITIONS}.")
        if dry:
            edges = _told(await operation.look_at_edges(site, FOLLOW_EDGES, count))
            self._line(f"Dry run: {edges} would be cut into {count} partitions; nothing was changed.")
            return
        self._line("This takes two minutes more than the copying: the last readers are waited for.", at=2)
        done = await operation.reshape(site, FOLLOW_EDGES, count, grace_s=GRACE_S)
        edges = _told(done.edges)
        self._line(
            f"Cut the follow edges into {count} partitions ({edges}); now set FOLLOW_PARTITIONS={count}."
        )

    async def _move(self, begin: Callable[[OnStep], Any]) -> None:
        console = Console(stderr=True)
        quiet = self.verbosity == 0 or not console.is_terminal
        with Progress(console=console, disable=quiet, transient=True) as progress:
            task = progress.add_task("Slices", total=None)

            def on_step(step: Step) -> None:
                if step.total:
                    progress.update(task, completed=step.done, total=step.total)

            report: Report = await begin(on_step)
        self._say(report)

    def _say(self, report: Report) -> None:
        tally = report.tally
        for family in sorted(tally.keys):
            size, checksum = tally.bytes[family], tally.checksums[family]
            self._line(f"{family}: {tally.keys[family]} keys, {size} bytes, checksum {checksum:08x}", at=2)
        again = f", {report.retried} tries repeated" if report.retried else ""
        self._line(
            f"Moved {tally.keys.total()} keys ({tally.bytes.total() / MB:.1f} MB) in {report.slices} slices, "
            f"each compared with its source{again}."
        )
        if report.strays:
            raise CommandError(
                f"{len(report.strays)} keys were written at the old store by nobody known, and left there; "
                f"the first is {report.strays[0]}: look at them"
            )

    def _tell(self, survey: Survey) -> None:
        for family in sorted(survey.keys):
            self._line(f"{family}: {survey.keys[family]} keys, about {survey.bytes[family] / MB:.1f} MB")
        self._line(
            f"Dry run: {survey.keys.total()} keys, about {survey.bytes.total() / MB:.1f} MB would move in "
            f"{survey.slices} slices, in about {survey.seconds:.0f} s; nothing was changed."
        )

    def _line(self, text: str, *, at: int = 1) -> None:
        if self.verbosity >= at:
            self.stdout.write(text)


def _told(edges: Mapping[str, int]) -> str:
    """Edges by the name of their outgoing side."""
    return ", ".join(f"{number} of {name}" for name, number in sorted(edges.items()))


def whole_url(url: str) -> str:
    """As every process of the site can use it. An embedded server has to live longer than this command."""
    scheme, _, rest = url.partition("://")
    if scheme != "embedded":
        return url
    directory = Path(rest).expanduser().resolve()
    if not EmbeddedServer(directory).is_running():
        raise CommandError(
            f"No server runs in {directory}: start it, it has to live longer than this command."
        )
    return f"embedded://{directory}"
