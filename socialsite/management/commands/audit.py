"""manage.py audit [--repair] [--sample N] [--drop-strays]: compare all values in the store that must agree.

The exit status is 1 if there is damage, or with --repair, if damage remains. An audit is safe while the site is
running: it reports a discrepancy only if a second check finds it again two seconds later. Leftovers of crashes and
expiry are harmless. They are reported and repaired, but do not count as damage.
"""

import asyncio
from typing import Any

from django.core.management.base import CommandError, CommandParser
from rich.console import Console
from rich.progress import Progress

from socialsite.container import Services
from socialsite.maintenance.scanning import count_keys
from socialsite.management.base import SiteCommand
from socialsite.startup import open_services
from socialsite.store.errors import StoreError
from timelines.audit import Audit, AuditReport
from timelines.audit.sampler import DamageCounts
from timelines.audit.unknown_keys import ForeignKeys

MAX_REPAIR_ROUNDS = 3  # a repair may reveal another discrepancy


class Command(SiteCommand):
    help = "Check follow edges, counts, handles, posts, sessions and timelines; exit 1 on damage."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--repair", action="store_true", help="put right what is found")
        parser.add_argument(
            "--sample", type=int, metavar="N",
            help="look at about N keys picked at random, and N/10 accounts with all that is theirs",
        )  # fmt: skip
        parser.add_argument("--drop-strays", action="store_true",
                            help="delete keys that are none of the site's, whosever they are")  # fmt: skip
        parser.add_argument("--dry-run", action="store_true", help="with --repair: only look after all")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["sample"] is not None and options["sample"] < 1:
            raise CommandError("--sample takes 1 or more.")
        if options["drop_strays"] and options["sample"] is not None:
            raise CommandError("--drop-strays walks over everything: leave --sample out.")
        self.drop_foreign: bool = options["drop_strays"] and not options["dry_run"]
        self.verbosity: int = options["verbosity"]
        repair = options["repair"] and not options["dry_run"]
        try:
            left = asyncio.run(self._run(options["sample"], repair=repair))
        except StoreError as error:
            raise CommandError(f"The store cannot be used: {error}") from error
        if left:
            advice = "see above" if repair else "repair it with `audit --repair`"
            raise CommandError(f"{left} damaged places: {advice}.")

    async def _run(self, sample: int | None, *, repair: bool) -> int:
        async with open_services() as services:
            for _ in range(MAX_REPAIR_ROUNDS if repair else 1):
                report = await self._audit(services, sample, repair=repair)
                self._print_report(report, repair=repair)
                if not (repair and report.repaired and report.is_whole):
                    break
            if not report.is_whole:
                return report.left
            await DamageCounts(services.store).replace(report.damage if report.left else {})
            return report.damage.total()

    async def _audit(self, services: Services, sample: int | None, *, repair: bool) -> AuditReport:
        console = Console(stderr=True)
        quiet = self.verbosity == 0 or not console.is_terminal
        with Progress(console=console, disable=quiet) as progress:
            task = progress.add_task("Keys", total=sample or await count_keys(services.store))
            return await Audit(services.audit_context).run(
                sample=sample,
                repair=repair,
                drop_foreign=self.drop_foreign,
                on_progress=lambda count: progress.advance(task, count),
            )

    def _print_report(self, report: AuditReport, *, repair: bool) -> None:
        if self.verbosity == 0:
            return
        for discrepancy in report.discrepancies if self.verbosity > 1 else report.discrepancies[:100]:
            self.stdout.write(str(discrepancy))
        for kind, count in (report.damage + report.leftovers).most_common():
            self.stdout.write(f"{kind}: {count}{'' if report.damage[kind] else ' (leftover)'}")
        if repair and report.for_a_walk:
            self.stdout.write(
                f"{report.for_a_walk} of them are built anew from what a sample does not come by: left to "
                "`audit --repair` without --sample."
            )
        self._print_unknown_keys(report.foreign_keys)
        done = f", {report.repaired} repaired" if repair else ""
        self.stdout.write(
            f"Looked at {report.keys} keys: {report.damage.total()} damaged, "
            f"{report.leftovers.total()} leftovers{done}."
        )

    def _print_unknown_keys(self, foreign: ForeignKeys) -> None:
        for name in foreign.names:
            self.stdout.write(f"stray {name}")
        if foreign.count:
            what = f"{foreign.dropped} deleted" if foreign.drop else "left alone; --drop-strays deletes them"
            self.stdout.write(f"{foreign.count} keys are none of the site's: {what}.")
        if foreign.unknown:
            self.stdout.write(f"{foreign.unknown} keys are of no family that this release knows: left alone.")
