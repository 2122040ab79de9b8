"""Write and restore backups in tests, and read the keys that a backup includes."""

from pathlib import Path

from socialsite.container import Services
from socialsite.maintenance.backup import Backup
from socialsite.maintenance.backup_file import BackupReader
from socialsite.maintenance.dump import KeyRecord, read_key_records
from socialsite.maintenance.key_families import is_backed_up
from socialsite.maintenance.restore import Restore, make_store_body_writer
from socialsite.maintenance.scanning import scan_keys
from socialsite.store import Store


async def write_backup(services: Services, path: Path) -> None:
    await Backup(services.store, services.config.immutable_settings).write(path, services.clock.now_ms())


async def restore_backup(services: Services, path: Path) -> None:
    file = BackupReader(path)
    file.verify()
    restore = Restore(services.store, make_store_body_writer(services.store))
    await restore.require_empty()
    await restore.load(file, services.clock.now_ms())


async def read_records(store: Store) -> dict[str, KeyRecord]:
    """Return every key that a backup includes, with its record."""
    records: dict[str, KeyRecord] = {}
    for node in store.nodes:
        async for keys in scan_keys(node, lambda count: None):
            backed_up_keys = [key for key in keys if is_backed_up(key)]
            records |= {record.key: record for record in await read_key_records(node, backed_up_keys)}
    return records
