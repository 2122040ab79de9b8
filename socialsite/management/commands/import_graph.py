"""manage.py import_graph FILE [--undirected] [--reverse] [--handle-prefix n] [--dry-run] [--report FILE]"""

from django.core.management.base import CommandError, CommandParser

from accounts.accounts.validation import InvalidHandle, normalize_handle
from socialsite.container import Services
from socialsite.management.import_command import ImportCommand
from timelines.importing.graph import GraphOptions
from timelines.importing.lines import LineFile, Tally


class Command(ImportCommand):
    help = (
        "Import a follow graph: lines `source<TAB>target` mean that source follows target; node N becomes "
        "the account n<N>. Safe to stop and to repeat."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--undirected", action="store_true", help="each line is two follows")
        parser.add_argument("--reverse", action="store_true", help="target follows source")
        parser.add_argument("--handle-prefix", default="n", metavar="P", help="node N becomes PN; default n")

    async def run_import(self, services: Services, file: LineFile, tally: Tally) -> None:
        options = GraphOptions(
            handle_prefix=_parse_handle_prefix(self.options["handle_prefix"]),
            undirected=self.options["undirected"],
            reverse=self.options["reverse"],
            dry_run=self.options["dry_run"],
        )
        await services.graph_import.run(file, options, tally, services.clock.now_ms())


def _parse_handle_prefix(raw: str) -> str:
    try:
        return normalize_handle(raw) if raw else ""
    except InvalidHandle:
        raise CommandError("--handle-prefix takes the letters a to z, digits and underscores.") from None
