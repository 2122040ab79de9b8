"""What the operator's commands share: services, a progress bar, one line on trouble, --verbosity."""

import asyncio
import contextlib
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from django.core.management.base import CommandError
from rich.console import Console
from rich.progress import Progress

from socialsite.container import Services
from socialsite.management.site_command import SiteCommand
from socialsite.startup import open_services
from socialsite.store.errors import StoreError


class OperatorCommand(SiteCommand):
    """Subclasses do their work in `act` and raise CommandError where it failed."""

    requires_system_checks = ()
    verbosity: int = 1

    def handle(self, *args: Any, **options: Any) -> None:
        self.verbosity = options["verbosity"]
        self.prepare_options(options)
        try:
            asyncio.run(self._run(options))
        except StoreError as error:
            raise CommandError(f"The store cannot be used: {error}") from error
        except KeyboardInterrupt:
            raise CommandError("Stopped. It may be run again.") from None

    def prepare_options(self, options: dict[str, Any]) -> None:
        """Look at the options before anything is opened."""

    @abstractmethod
    async def handle_async(self, services: Services, options: dict[str, Any]) -> None: ...

    def print_line(self, line: str, *, min_verbosity: int = 1) -> None:
        """A line on standard output, from verbosity `at` on."""
        if self.verbosity >= min_verbosity:
            self.stdout.write(line)

    @contextlib.contextmanager
    def progress_bar(self, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """A bar; call what it gives with how much further it is."""
        console = Console(stderr=True)
        quiet = self.verbosity == 0 or not console.is_terminal
        with Progress(console=console, disable=quiet, transient=True) as progress:
            task = progress.add_task(what, total=total)
            yield lambda count: progress.advance(task, count)

    async def _run(self, options: dict[str, Any]) -> None:
        async with open_services() as services:
            await self.handle_async(services, options)
