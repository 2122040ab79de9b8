"""manage.py audit [--repair] [--sample N] [--drop-strays]: compare all values in the store that must agree.

The exit status is 1 if there is damage, or with --repair, if damage remains. An audit is safe while the site is
running: it reports a discrepancy only if a second check finds it again two seconds later. Leftovers of crashes and
expiry are harmless. They are reported and repaired, but do not count as damage.
"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from socialsite.container import Services
from socialsite.maintenance.scanning import count_keys
from socialsite.management.base import OperatorCommand
from timelines.audit import Audit, AuditReport
from timelines.audit.sampler import DamageCounts
from timelines.audit.unknown_keys import ForeignKeys

MAX_REPAIR_ROUNDS = 3  # a repair may reveal another discrepancy


class Command(OperatorCommand):
    help = "Check follow edges, counts, handles, posts, sessions and timelines; exit 1 on damage."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--repair", action="store_true", help="repair the discrepancies")
        parser.add_argument(
            "--sample", type=int, metavar="N",
            help="audit only about N random keys, and all keys of N/10 random accounts",
        )  # fmt: skip
        parser.add_argument("--drop-strays", action="store_true",
                            help="delete all keys that do not belong to the site")  # fmt: skip
        parser.add_argument("--dry-run", action="store_true", help="with --repair: repair nothing")

    def prepare_options(self, options: dict[str, Any]) -> None:
        if options["sample"] is not None and options["sample"] < 1:
            raise CommandError("--sample takes 1 or more.")
        if options["drop_strays"] and options["sample"] is not None:
            raise CommandError("--drop-strays needs an audit of all keys: omit --sample.")

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        repair = options["repair"] and not options["dry_run"]
        for _ in range(MAX_REPAIR_ROUNDS if repair else 1):
            report = await self._audit(services, options, repair=repair)
            self._print_report(report, repair=repair)
            if not (repair and report.repaired and report.is_whole):
                break
        if report.is_whole:
            await DamageCounts(services.store).replace(report.damage if report.left else {})
        if left := report.damage.total() if report.is_whole else report.left:
            advice = "see above" if repair else "repair it with `audit --repair`"
            raise CommandError(f"{left} damaged places: {advice}.")

    async def _audit(self, services: Services, options: dict[str, Any], *, repair: bool) -> AuditReport:
        sample, drop_foreign = options["sample"], options["drop_strays"] and not options["dry_run"]
        with self.progress_bar("Keys", sample or await count_keys(services.store)) as step:
            return await Audit(services.audit_context).run(
                sample=sample, repair=repair, drop_foreign=drop_foreign, on_progress=step
            )

    def _print_report(self, report: AuditReport, *, repair: bool) -> None:
        for discrepancy in report.discrepancies if self.verbosity > 1 else report.discrepancies[:100]:
            self.print_line(str(discrepancy))
        for kind, count in (report.damage + report.leftovers).most_common():
            self.print_line(f"{kind}: {count}{'' if report.damage[kind] else ' (leftover)'}")
        if repair and report.for_a_walk:
            self.print_line(f"{report.for_a_walk} of them can only be repaired by `audit --repair` without --sample.")
        self._print_unknown_keys(report.foreign_keys)
        done = f", {report.repaired} repaired" if repair else ""
        self.print_line(
            f"Looked at {report.keys} keys: {report.damage.total()} damaged, "
            f"{report.leftovers.total()} leftovers{done}."
        )

    def _print_unknown_keys(self, foreign: ForeignKeys) -> None:
        for name in foreign.names:
            self.print_line(f"stray {name}")
        if foreign.count:
            what = f"{foreign.dropped} deleted" if foreign.drop else "kept; --drop-strays deletes them"
            self.print_line(f"{foreign.count} keys do not belong to the site: {what}.")
        if foreign.unknown:
            self.print_line(f"{foreign.unknown} keys belong to no family that this release knows: kept.")
