"""manage.py import_posts FILE [--unescape] [--max-length N] [--assign-to-graph] [--dry-run] [--report F]"""

import asyncio

from django.core.management.base import CommandError, CommandParser

from socialsite.container import Services
from socialsite.management.import_command import ImportCommand
from timelines.importing.account_archive import AccountArchive
from timelines.importing.archive_files import is_packed
from timelines.importing.lines import LineFile, Tally
from timelines.importing.posts import NoGraph, PostsOptions, compute_shift
from timelines.importing.rows import RowRules


class Command(ImportCommand):
    help = (
        "Import posts: a JSON object a line with id, author, created_at, text, in_reply_to; or the zip or tar.gz that "
        "a person downloaded from Mastodon or X, with its pictures. They keep their times and are not syndicated. Safe "
        "to stop and to repeat."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--unescape", action="store_true", help="texts contain entities (&amp;)")
        parser.add_argument("--max-length", type=int, metavar="N",
                            help="longer texts are refused lines; default POST_MAX_LENGTH")  # fmt: skip
        parser.add_argument("--assign-to-graph", action="store_true",
                            help="give authors to accounts of the imported graph, by rank")  # fmt: skip

        parser.add_argument("--author", metavar="HANDLE", default="",
                            help="account for the posts of an archive; default: the one it names")  # fmt: skip
        parser.add_argument("--shift-to-now", action="store_true",
                            help="for demonstrations: the newest becomes three minutes old")  # fmt: skip

    async def run_import(self, services: Services, file: LineFile, tally: Tally) -> None:
        longest = self.options["max_length"]
        if longest is not None and longest < 1:
            raise CommandError("--max-length takes a number from 1.")
        now_ms = services.clock.now_ms()
        with await asyncio.to_thread(file.path.open, "rb") as opened:
            is_archive = await asyncio.to_thread(is_packed, opened)
            source = await asyncio.to_thread(AccountArchive, opened, self.options["author"]) if is_archive else file
            rules = RowRules(
                max_graphemes=longest or services.config.post_max_length,
                latest_ms=now_ms,
                unescape=self.options["unescape"],
                shift_ms=compute_shift(source, now_ms) if self.options["shift_to_now"] else 0,
            )
            options = PostsOptions(rules, self.options["assign_to_graph"], self.options["dry_run"])
            try:
                await services.posts_import.run(source, options, tally, now_ms)
            except NoGraph:
                raise CommandError("--assign-to-graph needs a graph: run import_graph first.") from None
