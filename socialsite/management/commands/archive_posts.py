"""manage.py archive_posts --older-than 90d: move the bodies of old posts to the archive (ARCHIVE_URL).

Pages, feeds and searches still contain archived posts; they read all bodies of a page at once. The command may be
stopped and repeated. `--undo` moves all bodies back into the store. Run it from cron, for example once a night.
"""

import re
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from socialsite.container import Services
from socialsite.maintenance.scanning import count_keys
from socialsite.management.base import OperatorCommand, count_of
from timelines.post_archive.service import public_url

AGE_UNITS_MS = {"h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}


class Command(OperatorCommand):
    help = "Move the bodies of old posts from Redis to an archive on disk; pages read them as before."

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--older-than", metavar="AGE", help="such as 90d, 12w or 48h")
        what.add_argument("--undo", action="store_true", help="move all archived posts back into the store")
        parser.add_argument("--dry-run", action="store_true", help="count, move nothing")

    def prepare_options(self, options: dict[str, Any]) -> None:
        age = options["older_than"]
        self.age_ms = 0 if age is None else parse_age_ms(age)
        if options["undo"] and options["dry_run"]:
            raise CommandError("--undo has no dry run.")

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        archiving = services.archiving
        if options["undo"]:
            with self.progress_bar("Posts", None) as step:
                self.print_line(f"Brought {count_of(await archiving.restore_all(step), 'post')} back.")
            return
        before_ms = services.clock.now_ms() - self.age_ms
        with self.progress_bar("Keys", await count_keys(services.store)) as step:
            result = await archiving.archive(before_ms, step, dry_run=options["dry_run"])
        if options["dry_run"]:
            self.print_line(f"Would move {count_of(result.posts, 'post')} of {result.bytes_before / 1e6:.1f} MB.")
            return
        self.print_line(
            f"Moved {count_of(result.posts, 'post')} to {public_url(settings.ARCHIVE_URL)}: their keys took "
            f"{result.bytes_before / 1e6:.1f} MB and take {result.bytes_after / 1e6:.1f} MB."
        )
        if result.removed:
            self.print_line(f"Removed {count_of(result.removed, 'body', 'bodies')} of deleted posts from the archive.")


def parse_age_ms(text: str) -> int:
    """Return the milliseconds of an age such as "90d". Raises CommandError."""
    match = re.fullmatch(r"(\d{1,5})([hdw])", text)
    if not match or int(match[1]) == 0:
        raise CommandError(f"--older-than takes an age such as 90d, 12w or 48h, not {text!r}.")
    return int(match[1]) * AGE_UNITS_MS[match[2]]
