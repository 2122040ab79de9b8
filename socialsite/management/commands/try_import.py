"""manage.py try_import FILE [--content KIND]: count what an import of a person's file would find, without a store."""

import time
from pathlib import Path
from typing import Any, get_args

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from socialsite.management.base import SiteCommand
from timelines.exporting.transfer import ImportContent
from timelines.importing.archive_files import ArchiveUnreadable
from timelines.importing.lines import Tally
from timelines.importing.rows import RowRules
from timelines.importing.trial import try_archive, try_list


class Command(SiteCommand):
    help = (
        "Read a person's archive or list, write nothing, and print counts by kind and by reason. What is printed has "
        "no text, name or address of the file, so it may be sent with a bug report."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="zip, tar.gz, CAR or CSV")
        parser.add_argument("--content", choices=get_args(ImportContent), default="posts",
                            help="what the file has; default: posts")  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        tally, failure = Tally(), ""
        rules = RowRules(settings.POST_MAX_LENGTH, time.time_ns() // 1_000_000)
        program = "unknown"
        try:
            with options["file"].open("rb") as file:
                if options["content"] == "posts":
                    program = try_archive(file, settings.SITE_URL, rules, tally)
                else:
                    program = try_list(file, options["content"], tally)
        except ArchiveUnreadable as error:
            failure = error.code + (f" ({type(error.__cause__).__name__})" if error.__cause__ else "")
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror or error}") from error
        self.print_line(f"program: {program}")
        for name, count in sorted((+tally.counts).items()):
            self.print_line(f"{name}: {count}")
        self.print_line(f"refused: {tally.refused.total()}")
        for reason, count in (*tally.refused.most_common(), *tally.causes.most_common()):
            self.print_line(f"  {reason}: {count}")
        if failure:
            raise CommandError(f"The file cannot be read to its end: {failure}.")
