"""manage.py backup FILE: one consistent file from the running site. docs/backup.md says what is in it."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from socialsite.maintenance.backup import Backup
from socialsite.maintenance.backup_file import BackupReader
from socialsite.maintenance.scanning import key_count
from socialsite.maintenance.topology_check import KeysOnTheMove
from socialsite.management.operator_command import OperatorCommand
from socialsite.services import Services
from timelines.archive.service import ArchivedBodies

WALKS = 3


class Command(OperatorCommand):
    help = "Write everything that cannot be rebuilt into one compressed file, while the site serves."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a file of this name is replaced")
        parser.add_argument("--dry-run", action="store_true", help="count what would be written")

    def prepare(self, options: dict[str, Any]) -> None:
        path: Path = options["file"]
        if path.exists() and not path.is_file():
            raise CommandError(f"{path} is no file: name one to be written.")

    async def act(self, services: Services, options: dict[str, Any]) -> None:
        path: Path = options["file"]
        archive = ArchivedBodies(services.repositories.archive)
        backup = Backup(services.store, services.config.born_with, archive)
        total = await key_count(services.store)
        if options["dry_run"]:
            with self.progress("Keys", total) as step:
                counts = await backup.counted(step)
        else:
            try:
                with self.progress("Keys", WALKS * total) as step:
                    counts = await backup.write(path, services.clock.now_ms(), step)
            except KeysOnTheMove as error:
                raise CommandError(f"No backup was written: {error}.") from error
            except OSError as error:
                raise CommandError(f"{path}: {error.strerror or error}") from error
        for family, count in sorted(counts.items()):
            self.say(f"{family}: {count}", at=2)
        if options["dry_run"]:
            self.say(f"Dry run: nothing was written. {counts.total()} keys would be.")
        else:
            size = BackupReader(path).size / 1e6
            self.say(f"Wrote {counts.total()} keys to {path} ({size:.1f} MB).")
