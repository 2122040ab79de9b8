"""manage.py flush_buffers [--dry-run]: write all buffered counts to their totals now.

The worker does this every 10 s. The command is for sites without a worker, and before a shutdown. It may run beside
the worker and may be repeated: each count is added exactly once.
"""

import asyncio
from typing import Any

from django.core.management.base import CommandError, CommandParser

from socialsite.container import Services
from socialsite.management.base import SiteCommand
from socialsite.recipes.buffer import BATCH_LEASE_MS
from socialsite.startup import open_services
from socialsite.store.errors import StoreError


class Command(SiteCommand):
    help = "Write buffered counts (views, last visits) to their totals."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say how many buffers wait")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            line = asyncio.run(self._run(dry_run=options["dry_run"]))
        except StoreError as error:
            raise CommandError(f"The store cannot be used: {error}") from error
        if options["verbosity"] > 0:
            self.stdout.write(line)

    async def _run(self, *, dry_run: bool) -> str:
        async with open_services() as services:
            if dry_run:
                return f"{await services.statistics.buffers.count_waiting()} buffers wait."
            return await _flush_buffers(services)


async def _flush_buffers(services: Services) -> str:
    statistics, waiting = services.statistics, await services.statistics.buffers.count_waiting()
    result = await statistics.flusher.flush(services.clock.now_ms(), limit=max(1, 2 * waiting))
    if result.error is not None:
        raise result.error
    remaining = await statistics.buffers.count_waiting()
    later = f" {remaining} are in another flusher's hand for at most {BATCH_LEASE_MS // 1000} s." if remaining else ""
    return f"{result.applied} buffers flushed.{later}"
