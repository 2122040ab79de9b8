"""Backups as tests write and restore them, and what there is to back up."""

from pathlib import Path

from socialsite.maintenance.backup import Backup, walked
from socialsite.maintenance.backup_file import BackupReader
from socialsite.maintenance.dump import Record, read
from socialsite.maintenance.families import is_taken
from socialsite.maintenance.restore import Restore, into_store
from socialsite.services import Services
from socialsite.store import Store


async def save(services: Services, path: Path) -> None:
    await Backup(services.store, services.config.born_with).write(path, services.clock.now_ms())


async def load(services: Services, path: Path) -> None:
    file = BackupReader(path)
    file.check()
    restore = Restore(services.store, into_store(services.store))
    await restore.require_empty()
    await restore.load(file, services.clock.now_ms())


async def sources(store: Store) -> dict[str, Record]:
    """Everything a backup takes, by key."""
    found: dict[str, Record] = {}
    for node in store.nodes:
        async for some in walked(node, lambda count: None):
            taken = [key for key in some if is_taken(key)]
            found |= {record.key: record for record in await read(node, taken)}
    return found
