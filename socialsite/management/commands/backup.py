"""manage.py backup FILE: write one consistent file from the running site (docs/reference/backup.md)."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from socialsite.alerts.board import AlertRepository
from socialsite.container import Services
from socialsite.maintenance.backup import Backup
from socialsite.maintenance.backup_file import BackupReader
from socialsite.maintenance.scanning import TopologyChanging, count_keys
from socialsite.management.base import OperatorCommand, count_of
from timelines.media.backup import list_needed_files
from timelines.post_archive.service import ArchivedBodies

KEY_SCANS = 3


class Command(OperatorCommand):
    help = "Write everything that cannot be rebuilt into one compressed file, while the site serves."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a file of this name is replaced")
        parser.add_argument("--dry-run", action="store_true", help="count what would be written")

    def prepare_options(self, options: dict[str, Any]) -> None:
        path: Path = options["file"]
        if path.exists() and not path.is_file():
            raise CommandError(f"{path} is no file: name one to be written.")

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        path: Path = options["file"]
        archive = ArchivedBodies(services.repositories.archive)
        backup = Backup(services.store, services.config.immutable_settings, archive)
        total = await count_keys(services.store)
        if options["dry_run"]:
            with self.progress_bar("Keys", total) as step:
                counts = await backup.count_keys(step)
        else:
            try:
                with self.progress_bar("Keys", KEY_SCANS * total) as step:
                    counts = await backup.write(path, services.clock.now_ms(), step)
            except TopologyChanging as error:
                raise CommandError(f"No backup was written: {error}.") from error
            except OSError as error:
                raise CommandError(f"{path}: {error.strerror or error}") from error
        for family, count in sorted(counts.items()):
            self.print_line(f"{family}: {count}", min_verbosity=2)
        if options["dry_run"]:
            self.print_line(f"Dry run: nothing was written. {count_of(counts.total(), 'key')} would be.")
        else:
            size = BackupReader(path).size / 1e6
            self.print_line(f"Wrote {count_of(counts.total(), 'key')} to {path} ({size:.1f} MB).")
            await AlertRepository(services.store).record_backup(services.clock.now_ms())
            await self._list_pictures(services, path)

    async def _list_pictures(self, services: Services, path: Path) -> None:
        try:
            listing, needed = await list_needed_files(path, services.media_files)
        except OSError as error:
            raise CommandError(f"The backup is complete, but not the list of its pictures: {error}") from error
        self.print_line(
            f"It needs {count_of(needed.files, 'file')} of pictures ({needed.size_bytes / 1e6:.1f} MB): {listing}"
        )
        for name in needed.missing:
            self.print_line(f"missing or incomplete: {name}")
