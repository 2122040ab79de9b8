"""manage.py restore FILE: write a backup into an empty store, on any topology (docs/reference/backup.md).

The whole file is verified before the first write, and every key is read back. Then caches are rebuilt, and the audit
repairs discrepancies by changes during the backup. Stop the site before a restore and start it afterwards.
"""

import asyncio
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from socialsite.container import Services
from socialsite.maintenance.backup_file import BackupFooter, BackupReader, InvalidBackup
from socialsite.maintenance.restore import Restore, StoreNotEmpty, make_store_body_writer
from socialsite.management.base import OperatorCommand, count_of
from socialsite.store.site_marks import set_restoring
from timelines.media.backup import check_needed_files
from timelines.post_archive.service import ArchivedBodies


class Command(OperatorCommand):
    help = "Restore a backup into an empty store."
    may_be_restoring = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a file that `backup` has written")
        parser.add_argument("--force", action="store_true",
                            help="delete all data of the site, then restore")  # fmt: skip
        parser.add_argument(
            "--no-archive", action="store_true", help="write the bodies of archived posts into the store"
        )
        parser.add_argument(
            "--without-pictures", action="store_true", help="restore although files of pictures may be missing"
        )
        parser.add_argument("--dry-run", action="store_true", help="check the file and the store, write nothing")

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        file = BackupReader(options["file"])
        footer = await self._check_file(file, services)
        bodies = ArchivedBodies(services.repositories.archive)
        put = make_store_body_writer(services.store) if options["no_archive"] else bodies.put
        restore = Restore(services.store, put)
        if not options["force"]:
            await self._require_empty(restore)
        if not options["without_pictures"]:
            await self._require_pictures(options["file"], services)
        if options["dry_run"]:
            self.print_line(
                f"The backup is whole: {count_of(sum(footer.counts.values()), 'key')}. Nothing was written."
            )
            return
        await set_restoring(services.store, True)
        if options["force"]:
            await restore.delete_all_keys()
            await bodies.clear()
        with self.open_progress() as progress:
            task = progress.add_task("Restoring", total=file.size)
            now_ms = services.clock.now_ms()
            written = await restore.load(file, now_ms, lambda at: progress.update(task, completed=at))
        self.print_line(f"Restored and read back {count_of(written, 'key')}.")
        await self._rebuild_and_audit(services)

    async def _check_file(self, file: BackupReader, services: Services) -> BackupFooter:
        try:
            header, footer = await asyncio.to_thread(file.verify)
        except InvalidBackup as error:
            raise CommandError(f"This backup cannot be used: {error}.") from error
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from error
        if header.partitions != services.config.immutable_settings:
            settings = " ".join(f"{name}={count}" for name, count in header.partitions.items())
            raise CommandError(
                f"The backup is of a site with {settings}: set it so and restore into a store never started."
            )
        return footer

    async def _require_pictures(self, path: Path, services: Services) -> None:
        needed = await check_needed_files(path, services.media_files)
        for name in needed.missing:
            self.print_line(f"missing or incomplete: {name}")
        if needed.missing:
            raise CommandError(
                f"{len(needed.missing)} files of pictures are missing: copy them to the folder of MEDIA_ROOT "
                "or to the bucket first, or give --without-pictures."
            )
        self.print_line(f"All {needed.files} files of pictures are there.")

    @staticmethod
    async def _require_empty(restore: Restore) -> None:
        try:
            await restore.require_empty()
        except StoreNotEmpty as refusal:
            raise CommandError(
                f"The store is not empty ({refusal}): give another one, or --force to replace all of it."
            ) from refusal

    async def _rebuild_and_audit(self, services: Services) -> None:
        with self.progress_bar("Rebuilding and checking", None) as step:
            report = await services.rebuild_after_restore.run(step)
        await set_restoring(services.store, False)
        for finding in report.discrepancies:
            self.print_line(str(finding))
        if report.damage:
            raise CommandError(f"Restored, but {report.damage.total()} places are damaged: run `audit --repair`.")
        self.print_line(f"Caches are rebuilt, and the audit of {count_of(report.keys, 'key')} is clean.")
