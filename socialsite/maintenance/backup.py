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

from socialsite.maintenance.backup_file import VERSION, BackupWriter, Header
from socialsite.maintenance.dump import Record, read
from socialsite.maintenance.families import ACCOUNTS, BODIES, FIRST, REFERENCES, family_of, is_taken, pass_of
from socialsite.maintenance.scanning import OnStep, ignore_step, keys_of, steps
from socialsite.maintenance.topology_check import require_same, standing
from socialsite.store import Key, Node, Store

ARCHIVED = "archived"
"""Type of a record that is no key: a post's body in the archive, under the name of the post's key."""


class Bodies(Protocol):
    """What lies outside the store and belongs to it: the archive of old posts."""

    def pages(self) -> AsyncIterator[list[tuple[int, bytes]]]: ...

    def key_of(self, post_id: int) -> Key: ...


class Backup:
    def __init__(self, store: Store, partitions: Mapping[str, int], archive: Bodies | None = None) -> None:
        self._store = store
        self._partitions = partitions
        self._archive = archive

    async def write(self, path: Path, now_ms: int, on_step: OnStep = ignore_step) -> Counter[str]:
        """Keys by family. `on_step` hears how many keys were passed; each is, three times.

        Raises KeysOnTheMove, and leaves no file, where keys changed their servers meanwhile.
        """
        before = await standing(self._store)
        with BackupWriter(path, Header(VERSION, now_ms, dict(self._partitions))) as file:
            for key in FIRST:
                await self._take(file, self._store.node(key), [key])
            for walk in (REFERENCES, BODIES, ACCOUNTS):
                for node in self._store.nodes:
                    await self._walk(file, node, walk, on_step)
            if self._archive is not None:  # after the markers: a body that is deleted now leaves none behind
                await self._take_archived(file, self._archive)
            await require_same(self._store, before)
        return file.counts

    async def counted(self, on_step: OnStep = ignore_step) -> Counter[str]:
        """What would be written."""
        counts: Counter[str] = Counter()
        for node in self._store.nodes:
            async for keys in walked(node, on_step):
                counts.update(family_of(key) for key in keys if is_taken(key))
        return counts

    async def _walk(self, file: BackupWriter, node: Node, walk: int, on_step: OnStep) -> None:
        seen: set[Key] = set()  # of this walk's step and the last: a resized table shows keys twice
        async for keys in walked(node, on_step):
            taken = [k for k in keys if is_taken(k) and pass_of(k) == walk and k not in FIRST]
            await self._take(file, node, [key for key in dict.fromkeys(taken) if key not in seen])
            seen = set(taken)

    @staticmethod
    async def _take(file: BackupWriter, node: Node, keys: Sequence[Key]) -> None:
        if not keys:
            return
        by_family: dict[str, list[Record]] = {}
        for record in await read(node, keys):
            by_family.setdefault(family_of(Key.parse(record.key)), []).append(record)
        for family, records in by_family.items():
            await asyncio.to_thread(file.add, family, records)

    @staticmethod
    async def _take_archived(file: BackupWriter, archive: Bodies) -> None:
        async for page in archive.pages():
            records = [Record(str(archive.key_of(post_id)), ARCHIVED, 0, [body]) for post_id, body in page]
            await asyncio.to_thread(file.add, ARCHIVED, records)


async def walked(node: Node, on_step: OnStep) -> AsyncIterator[list[Key]]:
    """All keys of a node, step by step."""
    async for found in steps(node, on_step):
        yield keys_of(found)
