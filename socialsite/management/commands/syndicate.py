"""manage.py syndicate [--once] [--concurrency N] [--dry-run]: the worker.

The worker performs the jobs of all queues: it adds published posts to home and list timelines, encodes pictures,
sends mails and push messages, and reads and writes archives. Periodic tasks flush buffers every 10 s, and more. Any
number of workers may run on any machines; if a worker dies, the others perform its jobs. On SIGTERM or Ctrl-C a worker
finishes the jobs in progress, leaves the other jobs in the queue, and exits with status 0.
"""

import asyncio
import signal
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser

from socialsite.admin.sanctions import SanctionService
from socialsite.alerts.watch import AlertWatch
from socialsite.container import Services
from socialsite.management.base import OperatorCommand, count_of
from socialsite.recipes.job_queue import OUTBOX
from socialsite.recipes.job_worker import DEFAULT_CONCURRENCY, Worker
from socialsite.recipes.periodic_tasks import PeriodicTask, PeriodicTasks
from socialsite.recipes.task_supervisor import TaskSupervisor
from socialsite.store.errors import StoreError
from socialsite.web.gc_tuning import freeze_startup_objects

PROGRESS_INTERVAL_S = 5.0
MAX_CONCURRENCY = 64


class Command(OperatorCommand):
    help = "Deliver published posts to followers (the worker)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="exit with status 0 when all jobs are done")
        parser.add_argument("--concurrency", type=int, default=DEFAULT_CONCURRENCY, metavar="N",
                            help=f"jobs at once, 1 to {MAX_CONCURRENCY}; default {DEFAULT_CONCURRENCY}")  # fmt: skip
        parser.add_argument(
            "--dry-run", action="store_true", help="print the number of unfinished jobs, perform nothing"
        )

    def prepare_options(self, options: dict[str, Any]) -> None:
        if not 1 <= options["concurrency"] <= MAX_CONCURRENCY:
            raise CommandError(f"--concurrency takes 1 to {MAX_CONCURRENCY}.")

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        if options["dry_run"]:
            self.print_line(await _describe_backlog(services))
            return
        workers = [
            each.make_worker(options["concurrency"] if name == OUTBOX else None)
            for name, each in services.background_queues.items()
        ]
        _stop_on_signals(workers)
        freeze_startup_objects()
        if not await self._run_workers(services, workers, once=options["once"]):
            raise CommandError("Stopped before everything was done.")

    async def _run_workers(self, services: Services, workers: Sequence[Worker], *, once: bool) -> bool:
        """Run until stopped, or with `once` until the queues are empty. Returns False if it was stopped before that.

        Each queue has a worker of its own. The first worker has the outbox.
        """
        worker = workers[0]
        self.print_line(f"Worker {worker.name} syndicates.")
        upkeep, schedule = TaskSupervisor(), PeriodicTasks(services.store, _periodic_tasks(services))
        upkeep.start(lambda: self._print_progress(services, min_verbosity=1 if once else 2))
        if not once:
            upkeep.start(services.audit_sampler.run)
            upkeep.start(AlertWatch(services).run)
            schedule.start()
        try:
            async with asyncio.TaskGroup() as group:
                runs = [group.create_task(_run_jobs(each, once=once)) for each in workers]
            is_done = all(run.result() for run in runs)
        finally:
            await schedule.close()
            await upkeep.close()
        self.print_line(f"Worker {worker.name} stops after {count_of(worker.performed_jobs, 'job')}.")
        return is_done

    async def _print_progress(self, services: Services, min_verbosity: int) -> None:
        while self.verbosity >= min_verbosity:
            await asyncio.sleep(PROGRESS_INTERVAL_S)
            try:
                self.print_line(await _describe_backlog(services))
            except StoreError as error:
                self.print_line(f"The store is away: {error}")


def _periodic_tasks(services: Services) -> tuple[PeriodicTask, ...]:
    return (
        *services.statistics.periodic_tasks,
        *services.search_indexer.periodic_tasks,
        *services.pending_notifications.periodic_tasks,
        *services.polls.periodic_tasks,
        *services.drafts.periodic_tasks,
        *services.media_deletion.periodic_tasks,
        *services.exports.periodic_tasks,
        *services.accounts.periodic_tasks,
        *SanctionService(services).periodic_tasks,
        *services.mail_sending.periodic_tasks,
        *services.digests.periodic_tasks,
        *services.reports.periodic_tasks,
        *services.popular.periodic_tasks,
    )


async def _run_jobs(worker: Worker, *, once: bool) -> bool:
    if once:
        return await worker.run_until_empty()
    await worker.run()
    return True


async def _describe_backlog(services: Services) -> str:
    """Return one line for the outbox, and one for each other queue that is not empty."""
    lines = []
    for name, each in services.background_queues.items():
        depth = await each.queue.read_depth()
        age = "" if depth.is_empty else f"; the oldest is {depth.oldest_ms / 1000:.1f} s old"
        prefix = "" if name == OUTBOX else f"{name}: "
        if name == OUTBOX or depth.dead or not depth.is_empty:
            lines.append(f"{prefix}{depth.waiting} waiting, {depth.pending} pending, {depth.dead} dead letters{age}.")
    return "\n".join(lines)


def _stop_on_signals(workers: Sequence[Worker]) -> None:
    def stop() -> None:
        for worker in workers:
            worker.stop()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
