"""The files of pictures that a backup needs: a list beside the backup, and a check before the restore."""

import asyncio
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from socialsite.maintenance.backup_file import BackupReader
from timelines.media.media import SIZES, media_file
from timelines.media.repository import parse_row
from timelines.media.storage import MediaFiles

ROW_KEY = re.compile(r"posts:\{m\d+\}:media")


@dataclass(slots=True)
class NeededFiles:
    """The number and bytes of complete files, and the names of missing or incomplete files."""

    files: int = 0
    size_bytes: int = 0
    missing: list[str] = field(default_factory=list)


async def check_needed_files(backup: Path, files: MediaFiles, listing: IO[str] | None = None) -> NeededFiles:
    """Look for the files that the rows of a backup name. Write a line "BYTES<tab>NAME" for each that is there."""
    needed = NeededFiles()
    for _, records in BackupReader(backup).iterate_blocks():
        rows = [parse_row(record.parts) for record in records if ROW_KEY.fullmatch(record.key)]
        ready = [row for row in rows if row is not None and row.state == "ready"]
        names = [[media_file(row.name, size, row.extension) for size in SIZES] for row in ready]
        sizes = iter(await files.read_sizes(name for pair in names for name in pair))
        for row, pair in zip(ready, names, strict=True):
            sizes_by_name = {name: next(sizes) for name in pair}
            if sum(size or 0 for size in sizes_by_name.values()) != row.size_bytes:
                needed.missing += pair
                continue
            needed.files += len(sizes_by_name)
            needed.size_bytes += row.size_bytes
            if listing is not None:
                listing.writelines(f"{size}\t{name}\n" for name, size in sizes_by_name.items())
    return needed


async def list_needed_files(backup: Path, files: MediaFiles) -> tuple[Path, NeededFiles]:
    """Write the list beside a backup. Return its path, and what it contains. Raises OSError."""
    path = backup.with_name(f"{backup.name}.pictures")
    new_path = path.with_name(f"{path.name}.part")
    descriptor = await asyncio.to_thread(os.open, new_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as listing:
        needed = await check_needed_files(backup, files, listing)
    await asyncio.to_thread(new_path.replace, path)
    return path, needed
