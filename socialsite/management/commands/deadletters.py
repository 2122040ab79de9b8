"""manage.py deadletters [list | retry ID…|--all | drop ID…|--all]: jobs that failed in every try.

Read the reason of a dead letter, correct the cause, then retry the job. A retry is safe, because jobs are idempotent.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from django.core.management.base import CommandError, CommandParser

from socialsite.admin.dead_letters import describe_letter
from socialsite.container import Services
from socialsite.management.base import OperatorCommand
from socialsite.recipes.job_queue import STREAM_ID, DeadLetter

DEAD_LETTERS_PER_PAGE = 100
DEFAULT_LIST_LIMIT = 50
JOB_DESCRIPTIONS = {
    "purge": "sweep of account {account}", "post": "post {post}", "edit": "edit of post {post}",
    "fade": "boosts of post {post}", "pass": "pass of post {post}", "unknown": "unknown job",
}  # fmt: skip


class Command(OperatorCommand):
    help = "List, retry or delete jobs that failed too often."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=("list", "retry", "drop"), default="list")
        parser.add_argument("ids", nargs="*", metavar="ID", help="as `list` shows them")
        parser.add_argument("--all", action="store_true", help="every dead letter")
        parser.add_argument(
            "--limit", type=int, default=DEFAULT_LIST_LIMIT, help=f"of list; default {DEFAULT_LIST_LIMIT}"
        )
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
        if options["action"] == "list":
            await self._list(services, options["limit"])
        elif options["action"] == "retry":
            await self._apply_to_each(services, options, services.outbox.retry_dead_letter, "retried")
        else:
            await self._apply_to_each(services, options, services.outbox.delete_dead_letter, "dropped")

    async def _list(self, services: Services, limit: int) -> None:
        count = 0
        async for letter in iterate_dead_letters(services):
            if count == limit:
                self.print_line("There are more: --limit.")
                return
            count += 1
            self.print_line(f"{letter.id} {describe_job(letter)}, {letter.tries} tries: {letter.reason}")
        self.print_line(f"{count} dead letters.")

    async def _apply_to_each(
        self, services: Services, options: dict[str, Any], apply: Callable[[str], Awaitable[bool]], participle: str
    ) -> None:
        ids = options["ids"] or [letter.id async for letter in iterate_dead_letters(services)]
        if options["dry_run"]:
            self.print_line(f"{len(ids)} dead letters would be {participle}.")
            return
        absent = [each for each in ids if not await apply(each)]
        self.print_line(f"{len(ids) - len(absent)} dead letters {participle}.")
        if absent and options["ids"]:
            raise CommandError(f"There is no dead letter {', '.join(absent)}.")


async def iterate_dead_letters(services: Services) -> AsyncIterator[DeadLetter]:
    """Yield all dead letters, newest first."""
    cursor: str | None = None
    while page := await services.outbox.read_dead_letters(DEAD_LETTERS_PER_PAGE, cursor):
        for letter in page:
            yield letter
        cursor = page[-1].id


def describe_job(letter: DeadLetter) -> str:
    """Describe the job without the text of the post, which operators need not see."""
    details = describe_letter(letter)
    return JOB_DESCRIPTIONS[details.kind].format(account=details.account_id, post=details.post_id)
