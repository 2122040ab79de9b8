"""Restore a backup into an empty store, on any topology. Each key is written, read back and compared.

The bodies of archived posts are written to the archive, or to the store if the site has no archive.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from socialsite.batches import batches, group_by
from socialsite.maintenance.backup_file import BackupReader
from socialsite.maintenance.dump import ARCHIVED_BODY_TYPE, KeyRecord, build_write_commands, read_key_records
from socialsite.maintenance.key_families import is_of_installation
from socialsite.maintenance.scanning import OnProgress, ignore_progress, scan_keys
from socialsite.store import Command, Key, Store, StoreError

COMMANDS_PER_ROUND = 500
CLOCK_SKEW_MS = 1_000  # between two servers

PutBodies = Callable[[Sequence[tuple[Key, bytes]]], Awaitable[None]]


class StoreNotEmpty(Exception):
    """The store contains data."""


class VerificationFailed(StoreError):
    """A value that was read back differs from the file."""


class Restore:
    def __init__(self, store: Store, put_bodies: PutBodies) -> None:
        self._store = store
        self._put_bodies = put_bodies

    async def require_empty(self) -> None:
        """Raise StoreNotEmpty if the store has a key that the first start of a site does not write."""
        for node in self._store.nodes:
            async for keys in scan_keys(node, ignore_progress):
                for key in keys:
                    if not is_of_installation(key):
                        raise StoreNotEmpty(f"{node.address} holds {key}")

    async def delete_all_keys(self) -> None:
        """Delete every key of the site, but no foreign keys on the same servers."""
        for node in self._store.nodes:
            async for keys in scan_keys(node, ignore_progress):
                deleted = [key for key in keys if not is_of_installation(key)]
                await node.execute_all([("UNLINK", key) for key in deleted])

    async def load(self, file: BackupReader, now_ms: int, on_progress: OnProgress = ignore_progress) -> int:
        """Write all keys of a verified file and return their number. `on_progress` gets the position in the file."""
        written = 0
        for position, records in file.iterate_blocks():
            alive = [record for record in records if not 0 < record.expires_ms <= now_ms]
            bodies = [(Key.parse(r.key), r.parts[0]) for r in alive if r.type == ARCHIVED_BODY_TYPE]
            stored = {Key.parse(record.key): record for record in alive if record.type != ARCHIVED_BODY_TYPE}
            await self._write(stored)
            await self._verify(stored)
            await self._put_bodies(bodies)
            written += len(stored)
            on_progress(position)
        return written

    async def _write(self, records: Mapping[Key, KeyRecord]) -> None:
        """Delete the keys and write them, so that a restore may be repeated."""
        commands: list[Command] = []
        for key, record in records.items():
            commands += [("DEL", key), *build_write_commands(key, record)]
            if len(commands) >= COMMANDS_PER_ROUND:
                await self._store.execute_all(commands)
                commands = []
        await self._store.execute_all(commands)

    async def _verify(self, records: Mapping[Key, KeyRecord]) -> None:
        """Read keys directly from the servers, not through a proxy, and compare them. Keys may expire meanwhile.

        Raises VerificationFailed.
        """
        unverified = {record.key: record for record in records.values()}
        types = {record.key: record.type for record in records.values()}
        for keys in batches(records, COMMANDS_PER_ROUND):
            for record in await self._read_back(keys, types):
                if unverified.get(record.key) == record:
                    del unverified[record.key]
        expired_ms = await self._store.now_ms() + CLOCK_SKEW_MS if unverified else 0
        wrong = [key for key, record in unverified.items() if not 0 < record.expires_ms <= expired_ms]
        if wrong:
            raise VerificationFailed(f"{len(wrong)} keys are not as in the file, first {wrong[0]}")

    async def _read_back(self, keys: Sequence[Key], types: Mapping[str, str]) -> list[KeyRecord]:
        records: list[KeyRecord] = []
        for owner, node_keys in group_by(keys, self._store.node).items():
            for node in [owner] if owner in self._store.nodes else self._store.nodes:
                records += await read_key_records(node, node_keys, types)
        return records


def make_store_body_writer(store: Store) -> PutBodies:
    """Return a function that writes archived bodies into the keys of their posts, for a site without an archive."""

    async def put(bodies: Sequence[tuple[Key, bytes]]) -> None:
        for batch in batches(bodies, COMMANDS_PER_ROUND):
            await store.execute_all([("SET", key, body, "XX") for key, body in batch])

    return put
