"""manage.py deadletters [list | retry ID…|--all | drop ID…|--all] [--queue NAME]: jobs that failed in every try.

Read the reason of a dead letter, correct the cause, then retry the job. A retry is safe, because jobs are idempotent.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser

from socialsite.admin.dead_letters import DeadLetterDetails, describe_letter
from socialsite.container import Services
from socialsite.management.base import OperatorCommand
from socialsite.recipes.job_queue import QUEUE_NAMES, STREAM_ID, JobQueue

DEAD_LETTERS_PER_PAGE = 100
DEFAULT_LIST_LIMIT = 50
JOB_DESCRIPTIONS = {  # without texts of posts, because operators do not need them
    "purge": "sweep of account {account}", "post": "post {post}", "edit": "edit of post {post}",
    "fade": "boosts of post {post}", "pass": "pass of post {post}", "unknown": "unknown job",
    "media": "picture of account {account}", "mail": "mail to account {account}", "push": "push to account {account}",
    "previews": "link preview", "archives": "import of account {account}",
    "exports": "archive of account {account}", "slowpictures": "picture of account {account}",
}  # fmt: skip
Apply = Callable[[JobQueue, str], Awaitable[bool]]
ACTIONS: Mapping[str, tuple[Apply, str]] = {
    "retry": (JobQueue.retry_dead_letter, "retried"),
    "drop": (JobQueue.delete_dead_letter, "dropped"),
}


class Command(OperatorCommand):
    help = "List, retry or delete jobs that failed too often."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=("list", *ACTIONS), default="list")
        parser.add_argument("ids", nargs="*", metavar="ID", help="as `list` shows them")
        parser.add_argument("--all", action="store_true", help="every dead letter")
        parser.add_argument(
            "--limit", type=int, default=DEFAULT_LIST_LIMIT, help=f"of list; default {DEFAULT_LIST_LIMIT}"
        )
        parser.add_argument("--queue", choices=QUEUE_NAMES, help="only of this queue; default: all queues")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done")

    def prepare_options(self, options: dict[str, Any]) -> None:
        if options["action"] == "list":
            return
        if bool(options["ids"]) == options["all"]:
            raise CommandError(f"Name the dead letters to {options['action']}, or say --all.")
        for each in options["ids"]:
            if not STREAM_ID.fullmatch(each):
                raise CommandError(f"{each} is not the id of a dead letter.")

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        queues = [each.queue for name, each in services.background_queues.items() if options["queue"] in (None, name)]
        if options["action"] == "list":
            await self._list(queues, options["limit"])
        else:
            await self._apply_to_each(queues, options, *ACTIONS[options["action"]])

    async def _list(self, queues: Sequence[JobQueue], limit: int) -> None:
        count = 0
        async for details in iterate_dead_letters(queues):
            if count == limit:
                self.print_line("There are more: --limit.")
                return
            count += 1
            letter = details.letter
            job = JOB_DESCRIPTIONS[details.kind].format(account=details.account_id, post=details.post_id)
            self.print_line(f"{letter.id} {job}, {letter.tries} tries: {letter.reason}")
        self.print_line(f"{count} dead letters.")

    async def _apply_to_each(
        self, queues: Sequence[JobQueue], options: dict[str, Any], apply: Apply, participle: str
    ) -> None:
        """Apply to each dead letter in the first queue that has it."""
        ids = options["ids"] or [details.letter.id async for details in iterate_dead_letters(queues)]
        if options["dry_run"]:
            self.print_line(f"{len(ids)} dead letters would be {participle}.")
            return
        absent = ids
        for queue in queues:
            absent = [id for id in absent if not await apply(queue, id)]
        self.print_line(f"{len(ids) - len(absent)} dead letters {participle}.")
        if absent and options["ids"]:
            raise CommandError(f"There is no dead letter {', '.join(absent)}.")


async def iterate_dead_letters(queues: Sequence[JobQueue]) -> AsyncIterator[DeadLetterDetails]:
    """Yield all dead letters of each queue, newest first."""
    for queue in queues:
        cursor: str | None = None
        while page := await queue.read_dead_letters(DEAD_LETTERS_PER_PAGE, cursor):
            for letter in page:
                yield describe_letter(letter, queue.name)
            cursor = page[-1].id
