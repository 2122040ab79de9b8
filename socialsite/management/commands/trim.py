"""manage.py trim: apply every cap and remove leftovers of expiry and crashes."""

from typing import Any

from django.core.management.base import CommandParser

from socialsite.container import Services
from socialsite.maintenance.scanning import count_keys
from socialsite.management.base import OperatorCommand
from timelines.audit.trimming import Trimming


class Command(OperatorCommand):
    help = "Trim timelines and dead letters to their caps; remove leftovers of sessions and lists."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count")

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        with self.progress_bar("Keys", await count_keys(services.store)) as step:
            removed = await Trimming(services.audit_context).trim(step, dry_run=options["dry_run"])
        for kind, count in removed.most_common():
            self.print_line(f"{kind}: {count}")
        verb = "Would take away" if options["dry_run"] else "Took away"
        self.print_line(f"{verb} {removed.total()}.")
