"""Base classes of all commands. An error prints one line and exits with status 1 (docs/reference/interface.md)."""

import asyncio
import contextlib
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import Progress, ProgressColumn

from socialsite.container import Services
from socialsite.startup import open_services
from socialsite.store.errors import StoreError


def count_of(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 key", "2 keys"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


class SiteCommand(BaseCommand):
    """Prints one line for wrong arguments, too. Django would print the usage and exit with status 2."""

    verbosity: int = 1
    requires_system_checks = ()

    def execute(self, *args: Any, **options: Any) -> str | None:
        self.verbosity = options["verbosity"]
        return super().execute(*args, **options)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        self._called_from_command_line = False  # the parsers then raise CommandError
        return super().create_parser(prog_name, subcommand, **kwargs)

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            super().run_from_argv(argv)
        except CommandError as error:
            if "--traceback" in argv:
                raise
            self.stderr.write(f"{error} (see {argv[1]} --help)")
            sys.exit(1)

    def print_line(self, line: str, *, min_verbosity: int = 1) -> None:
        """Print a line if the verbosity is at least `min_verbosity`."""
        if self.verbosity >= min_verbosity:
            self.stdout.write(line)
            self.stdout.flush()

    def open_progress(self, *columns: ProgressColumn, transient: bool = True) -> Progress:
        """Return a progress display. It is disabled if stderr is not a terminal, or by --verbosity 0."""
        console = Console(stderr=True)
        is_quiet = self.verbosity == 0 or not console.is_terminal
        return Progress(*columns, console=console, disable=is_quiet, transient=transient)

    @contextlib.contextmanager
    def progress_bar(self, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Show a progress bar. Yields a function that advances it by a count."""
        with self.open_progress() as progress:
            task = progress.add_task(what, total=total)
            yield lambda count: progress.advance(task, count)


class OperatorCommand(SiteCommand):
    """Runs `handle_async` with open services. An error of the store becomes a CommandError."""

    advice = "It may be run again."
    """What an interrupted command says."""
    may_be_restoring = False
    """Whether the command accepts a store whose restore did not finish."""

    def handle(self, *args: Any, **options: Any) -> None:
        self.prepare_options(options)
        try:
            asyncio.run(self._run(options))
        except StoreError as error:
            raise CommandError(f"The store cannot be used: {error}. {self.advice}") from error
        except OSError as error:
            reason = f"{error.filename}: {error.strerror}" if error.filename else str(error) or type(error).__name__
            raise CommandError(f"{reason}. {self.advice}") from error
        except KeyboardInterrupt:
            raise CommandError(f"Stopped. {self.advice}") from None

    def prepare_options(self, options: dict[str, Any]) -> None:
        """Check the options before the services are opened."""

    @abstractmethod
    async def handle_async(self, services: Services, options: dict[str, Any]) -> None: ...

    async def _run(self, options: dict[str, Any]) -> None:
        async with open_services(may_be_restoring=self.may_be_restoring) as services:
            await self.handle_async(services, options)
