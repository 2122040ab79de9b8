"""manage.py flush_buffers [--dry-run]: write all buffered counts to their totals now.

The worker does this every 10 s. The command is for sites without a worker, and before a shutdown. It may run beside
the worker and may be repeated: each count is added exactly once.
"""

from typing import Any

from django.core.management.base import CommandParser

from socialsite.container import Services
from socialsite.management.base import OperatorCommand, count_of
from socialsite.recipes.buffer import BATCH_LEASE_MS


class Command(OperatorCommand):
    help = "Write buffered counts (views, last visits) to their totals."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="print the number of waiting buffers")

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        statistics, waiting = services.statistics, await services.statistics.buffers.count_waiting()
        if options["dry_run"]:
            self.print_line(f"{count_of(waiting, 'buffer')} {'waits' if waiting == 1 else 'wait'}.")
            return
        result = await statistics.flusher.flush(services.clock.now_ms(), limit=max(1, 2 * waiting))
        if result.error is not None:
            raise result.error
        remaining = await statistics.buffers.count_waiting()
        later = f" Another process writes {remaining} within {BATCH_LEASE_MS // 1000} s."
        self.print_line(f"{count_of(result.applied, 'buffer')} flushed.{later if remaining else ''}")
