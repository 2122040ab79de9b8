"""Write one consistent backup file from a running site, on any topology.

The file is not a snapshot. Three passes read references before the values that they refer to (BackupPass). So
changes during the backup cause only discrepancies that the audit repairs. No value that existed at the beginning is
lost, and no deleted value is restored. Caches are not in the file, because they can be rebuilt.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Set
from pathlib import Path
from typing import Protocol

from socialsite.batches import batches, group_by
from socialsite.maintenance.backup_file import FORMAT_VERSION, BackupHeader, BackupWriter
from socialsite.maintenance.dump import ARCHIVED_BODY_TYPE, KeyRecord, read_key_records
from socialsite.maintenance.key_families import find_backup_place, get_family, is_backed_up
from socialsite.maintenance.scanning import (
    OnProgress,
    ignore_progress,
    require_unchanged,
    scan_keys,
    scan_raw_keys,
    topology_fingerprint,
)
from socialsite.recipes.job_queue import JobQueue
from socialsite.store import Key, Node, Store
from socialsite.store.key_families import BackupPass

KEYS_PER_READ = 500


class BodyArchive(Protocol):
    """The archive of old posts, which is outside the store."""

    def pages(self) -> AsyncIterator[list[tuple[int, bytes]]]: ...

    def post_key(self, post_id: int) -> Key: ...


class Backup:
    def __init__(self, store: Store, partitions: Mapping[str, int], archive: BodyArchive | None = None) -> None:
        self._store = store
        self._partitions = partitions
        self._archive = archive
        self._types: dict[str, str] = {}  # by family

    async def write(self, path: Path, now_ms: int, on_progress: OnProgress = ignore_progress) -> Counter[str]:
        """Write the file. Returns the number of keys by family. `on_progress` counts each key three times.

        If keys move to other servers meanwhile, TopologyChanging is raised and no file is left.
        """
        before = await topology_fingerprint(self._store)
        with BackupWriter(path, BackupHeader(FORMAT_VERSION, now_ms, dict(self._partitions))) as file:
            # A job contains its post, and must not restore a post that is deleted meanwhile. Jobs move from the waiting
            # streams to the stream of jobs, so this order of reads misses none of them.
            queue = JobQueue(self._store)
            first_keys = [*await queue.waiting_streams(), queue.stream_key, queue.dead_letters_key]
            for key in first_keys:
                await self._write_keys(file, self._store.node(key), {key: get_family(key)})
            for backup_pass in BackupPass:
                for node in self._store.nodes:
                    await self._write_pass(file, node, backup_pass, frozenset(first_keys), on_progress)
            if self._archive is not None:  # read after the keys of the posts, which mark archived bodies
                await self._write_archived_bodies(file, self._archive)
            await require_unchanged(self._store, before)
        return file.counts

    async def count_keys(self, on_progress: OnProgress = ignore_progress) -> Counter[str]:
        """Return the number of keys by family that `write` would write."""
        counts: Counter[str] = Counter()
        for node in self._store.nodes:
            async for keys in scan_keys(node, on_progress):
                counts.update(get_family(key) for key in keys if is_backed_up(key))
        return counts

    async def _write_pass(
        self, file: BackupWriter, node: Node, backup_pass: BackupPass, written: Set[Key], on_progress: OnProgress
    ) -> None:
        seen: Set[str] = set()  # keys of the previous step: while a table is resized, SCAN returns keys twice
        async for raw_keys in scan_raw_keys(node, on_progress):
            places = zip(raw_keys, map(find_backup_place, raw_keys), strict=True)
            due = {key.decode(): place.family for key, place in places if place and place.backup_pass is backup_pass}
            for batch in batches((key for key in due if key not in seen and key not in written), KEYS_PER_READ):
                await self._write_keys(file, node, {key: due[key] for key in batch})
            seen = due.keys()

    async def _write_keys(self, file: BackupWriter, node: Node, families: Mapping[str, str]) -> None:
        types = {key: self._types[family] for key, family in families.items() if family in self._types}
        records = await read_key_records(node, list(map(Key.parse, families)), types)
        by_family = group_by(records, lambda record: families[record.key])
        self._types |= {family: records[0].type for family, records in by_family.items()}

        def add_records() -> None:
            for family, records in by_family.items():
                file.add(family, records)

        await asyncio.to_thread(add_records)

    @staticmethod
    async def _write_archived_bodies(file: BackupWriter, archive: BodyArchive) -> None:
        async for page in archive.pages():
            records = [
                KeyRecord(str(archive.post_key(post_id)), ARCHIVED_BODY_TYPE, 0, [body]) for post_id, body in page
            ]
            await asyncio.to_thread(file.add, ARCHIVED_BODY_TYPE, records)
