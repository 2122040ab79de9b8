"""The base class of the import commands, with progress bar, refused lines, summary, and one line for each error."""

import contextlib
import itertools
import sys
import zlib
from abc import abstractmethod
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError, CommandParser
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeElapsedColumn

from socialsite.container import Services
from socialsite.management.base import OperatorCommand
from socialsite.web.gc_tuning import freeze_startup_objects
from timelines.importing.lines import LineFile, Tally

REFUSED_LINES_SHOWN = 20
"""Number of refused lines that are printed by default; --verbosity 2 prints all."""


class ImportCommand(OperatorCommand):
    """Subclasses import the file in `run_import`."""

    advice = "Run it again to go on; nothing comes twice."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="plain or gzipped")
        parser.add_argument("--dry-run", action="store_true", help="read and check everything, write nothing")
        parser.add_argument("--report", type=Path, metavar="FILE",
                            help="write each refused line there: number, tab, reason")  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        self.options = options
        try:
            self.size = options["file"].stat().st_size
            path: Path | None = options["report"]
            with path.open("w", encoding="utf-8") if path else contextlib.nullcontext() as report:
                self.tally = Tally(on_refused=self._refused_line_reporter(report))
                super().handle(*args, **options)
        except (OSError, EOFError, zlib.error) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise CommandError(f"{options['file']}: {reason}") from error
        if options["verbosity"] > 0:
            self._print_summary(self.tally)
        if self.tally.refused and not self.tally.counts.total():
            raise CommandError(f"{options['file']}: no line of this file can be imported.")

    @abstractmethod
    async def run_import(self, services: Services, file: LineFile, tally: Tally) -> None:
        """Import the file, at `file.path`. If options["dry_run"] is set, only check it."""

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        freeze_startup_objects()
        columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn()
        with self.open_progress(*columns, transient=False) as progress:
            task = progress.add_task(options["file"].name, total=self.size)
            file = LineFile(options["file"], on_bytes=lambda at: progress.update(task, completed=at))
            await self.run_import(services, file, self.tally)

    def _refused_line_reporter(self, report: IO[str] | None) -> Any:
        numbers = itertools.count(1)
        limit = {0: 0, 1: REFUSED_LINES_SHOWN}.get(self.options["verbosity"], sys.maxsize)

        def report_line(number: int, reason: str) -> None:
            if report is not None:
                report.write(f"{number}\t{reason}\n")
            if next(numbers) <= limit:
                self.stderr.write(f"line {number}: {reason}")

        return report_line

    def _print_summary(self, tally: Tally) -> None:
        if self.options["dry_run"]:
            self.stdout.write("Dry run: nothing was written.")
        for name, count in tally.counts.items():
            self.stdout.write(f"{name}: {count}")
        self.stdout.write(f"refused: {tally.refused.total()}")
        for reason, count in tally.refused.most_common():
            self.stdout.write(f"  {reason}: {count}")
        left_out = tally.refused.total() - REFUSED_LINES_SHOWN
        if self.options["verbosity"] == 1 and left_out > 0:
            report = self.options["report"]
            others = f"{report} has them all" if report else "--report FILE keeps them all"
            self.stderr.write(f"{left_out} more refused lines: {others}, --verbosity 2 shows them.")
