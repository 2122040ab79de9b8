"""A backup into an empty store, on whatever topology: written by key, read back, held against it.

The markers of archived posts and their bodies come back together: into the archive where the site has one,
else into the store.
"""

from collections.abc import Awaitable, Callable, Sequence

from socialsite.maintenance.backup import ARCHIVED_BODY_TYPE, scan_keys
from socialsite.maintenance.backup_file import BackupReader
from socialsite.maintenance.dump import KeyRecord, build_write_commands, read_key_records
from socialsite.maintenance.key_families import INSTALL_KEYS
from socialsite.maintenance.scanning import OnProgress, ignore_progress
from socialsite.store import Command, Key, Store, StoreError

COMMANDS_PER_ROUND = 500
CLOCK_SKEW_MS = 1_000  # between the clocks of two servers

PutBodies = Callable[[Sequence[tuple[Key, bytes]]], Awaitable[None]]


class StoreNotEmpty(Exception):
    """The store holds data already."""


class VerificationFailed(StoreError):
    """What was read back differs from the file."""


class Restore:
    def __init__(self, store: Store, put_bodies: PutBodies) -> None:
        self._store = store
        self._put_bodies = put_bodies

    async def require_empty(self) -> None:
        """Raises StoreNotEmpty where there is anything but what a store has from its first start."""
        for node in self._store.nodes:
            async for keys in scan_keys(node, ignore_progress):
                for key in keys:
                    if not INSTALL_KEYS.fullmatch(key):
                        raise StoreNotEmpty(f"{node.address} holds {key}")

    async def delete_all_keys(self) -> None:
        """Delete every key of the site; keys of others on the same servers stay."""
        for node in self._store.nodes:
            async for keys in scan_keys(node, ignore_progress):
                gone = [key for key in keys if not INSTALL_KEYS.fullmatch(key)]
                await node.pipeline([("UNLINK", key) for key in gone])

    async def load(self, file: BackupReader, now_ms: int, on_progress: OnProgress = ignore_progress) -> int:
        """Keys written. `on_step` hears how far into the file. The file must have been checked before."""
        written = 0
        for position, records in file.iterate_blocks():
            alive = [record for record in records if not 0 < record.expires_ms <= now_ms]
            bodies = [(Key.parse(r.key), r.parts[0]) for r in alive if r.type == ARCHIVED_BODY_TYPE]
            kept = [record for record in alive if record.type != ARCHIVED_BODY_TYPE]
            await self._write(kept)
            await self._verify(kept)
            await self._put_bodies(bodies)
            written += len(kept)
            on_progress(position)
        return written

    async def _write(self, records: Sequence[KeyRecord]) -> None:
        """Whatever part of a key is there is taken away first: so a restore may be repeated."""
        commands: list[Command] = []
        for record in records:
            commands += [("DEL", Key.parse(record.key)), *build_write_commands(record)]
            if len(commands) >= COMMANDS_PER_ROUND:
                await self._store.gather(commands)
                commands = []
        await self._store.gather(commands)

    async def _verify(self, records: Sequence[KeyRecord]) -> None:
        """Asked of the servers themselves, where a proxy stands before them. What ends meanwhile may be gone:
        a busy site has keys that live for minutes, and some of them end at every moment."""
        left = {record.key: record for record in records}
        keys = [Key.parse(record.key) for record in records]
        for start in range(0, len(keys), COMMANDS_PER_ROUND):
            for found in await self._read_back(keys[start : start + COMMANDS_PER_ROUND]):
                if left.get(found.key) == found:
                    del left[found.key]
        ended_ms = await self._store.now_ms() + CLOCK_SKEW_MS if left else 0
        wrong = [key for key, record in left.items() if not 0 < record.expires_ms <= ended_ms]
        if wrong:
            raise VerificationFailed(f"{len(wrong)} keys are not as in the file, first {wrong[0]}")

    async def _read_back(self, keys: Sequence[Key]) -> list[KeyRecord]:
        places: dict[int, list[Key]] = {}
        nodes = {id(node): node for node in self._store.nodes}
        for key in keys:
            places.setdefault(id(self._store.node(key)), []).append(key)
        found: list[KeyRecord] = []
        for place, some in places.items():
            holders = [nodes[place]] if place in nodes else self._store.nodes
            for node in holders:
                found += await read_key_records(node, some)
        return found


def make_store_body_writer(store: Store) -> PutBodies:
    """Bodies of archived posts back into their keys, for a site without an archive."""

    async def put(bodies: Sequence[tuple[Key, bytes]]) -> None:
        for start in range(0, len(bodies), COMMANDS_PER_ROUND):
            some = bodies[start : start + COMMANDS_PER_ROUND]
            await store.gather([("SET", key, body, "XX") for key, body in some])

    return put
