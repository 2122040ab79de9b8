"""The base of every command: whatever is wrong is one line, and exit status 1 (docs/reference/interface.md)."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser


class SiteCommand(BaseCommand):
    """Django tells of wrong arguments by the usage, over several lines, and exit status 2."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        self._called_from_command_line = False  # then the parser, and those below it, raise what is wrong
        return super().create_parser(prog_name, subcommand, **kwargs)

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            super().run_from_argv(argv)
        except CommandError as error:
            if "--traceback" in argv:
                raise
            self.stderr.write(f"{error} (see {argv[1]} --help)")
            sys.exit(1)
