"""One consistent file from a running site, on any topology.

No moment is frozen. Three walks read what refers before what is referred to (families.py), so whatever
changes meanwhile leaves only differences that the audit mends, without bringing back anything deleted or
losing anything that stood when the backup began. Caches are left out: they are rebuilt.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from socialsite.maintenance.backup_file import FORMAT_VERSION, BackupHeader, BackupWriter
from socialsite.maintenance.dump import KeyRecord, read_key_records
from socialsite.maintenance.key_families import (
    ACCOUNTS_PASS,
    BODIES_PASS,
    FIRST_KEYS,
    REFERENCES_PASS,
    get_backup_pass,
    get_family,
    is_backed_up,
)
from socialsite.maintenance.scanning import OnProgress, ignore_progress, parse_keys, scan_raw_keys
from socialsite.maintenance.topology_check import require_unchanged, topology_fingerprint
from socialsite.store import Key, Node, Store

ARCHIVED_BODY_TYPE = "archived"
"""Type of a record that is no key: a post's body in the archive, under the name of the post's key."""


class BodyArchive(Protocol):
    """What lies outside the store and belongs to it: the archive of old posts."""

    def pages(self) -> AsyncIterator[list[tuple[int, bytes]]]: ...

    def post_key(self, post_id: int) -> Key: ...


class Backup:
    def __init__(self, store: Store, partitions: Mapping[str, int], archive: BodyArchive | None = None) -> None:
        self._store = store
        self._partitions = partitions
        self._archive = archive

    async def write(self, path: Path, now_ms: int, on_progress: OnProgress = ignore_progress) -> Counter[str]:
        """Keys by family. `on_step` hears how many keys were passed; each is, three times.

        Raises TopologyChanging, and leaves no file, where keys changed their servers meanwhile.
        """
        before = await topology_fingerprint(self._store)
        with BackupWriter(path, BackupHeader(FORMAT_VERSION, now_ms, dict(self._partitions))) as file:
            for key in FIRST_KEYS:
                await self._write_keys(file, self._store.node(key), [key])
            for walk in (REFERENCES_PASS, BODIES_PASS, ACCOUNTS_PASS):
                for node in self._store.nodes:
                    await self._write_pass(file, node, walk, on_progress)
            if self._archive is not None:  # after the markers: a body that is deleted now leaves none behind
                await self._write_archived_bodies(file, self._archive)
            await require_unchanged(self._store, before)
        return file.counts

    async def count_keys(self, on_progress: OnProgress = ignore_progress) -> Counter[str]:
        """What would be written."""
        counts: Counter[str] = Counter()
        for node in self._store.nodes:
            async for keys in scan_keys(node, on_progress):
                counts.update(get_family(key) for key in keys if is_backed_up(key))
        return counts

    async def _write_pass(self, file: BackupWriter, node: Node, walk: int, on_step: OnProgress) -> None:
        seen: set[Key] = set()  # of this walk's step and the last: a resized table shows keys twice
        async for keys in scan_keys(node, on_step):
            taken = [k for k in keys if is_backed_up(k) and get_backup_pass(k) == walk and k not in FIRST_KEYS]
            await self._write_keys(file, node, [key for key in dict.fromkeys(taken) if key not in seen])
            seen = set(taken)

    @staticmethod
    async def _write_keys(file: BackupWriter, node: Node, keys: Sequence[Key]) -> None:
        if not keys:
            return
        by_family: dict[str, list[KeyRecord]] = {}
        for record in await read_key_records(node, keys):
            by_family.setdefault(get_family(Key.parse(record.key)), []).append(record)
        for family, records in by_family.items():
            await asyncio.to_thread(file.add, family, records)

    @staticmethod
    async def _write_archived_bodies(file: BackupWriter, archive: BodyArchive) -> None:
        async for page in archive.pages():
            records = [
                KeyRecord(str(archive.post_key(post_id)), ARCHIVED_BODY_TYPE, 0, [body]) for post_id, body in page
            ]
            await asyncio.to_thread(file.add, ARCHIVED_BODY_TYPE, records)


async def scan_keys(node: Node, on_step: OnProgress) -> AsyncIterator[list[Key]]:
    """All keys of a node, step by step."""
    async for found in scan_raw_keys(node, on_step):
        yield parse_keys(found)
