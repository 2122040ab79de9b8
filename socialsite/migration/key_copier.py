"""Copy keys from store to store, and compare each copy with its source before it is used.

Keys are copied by DUMP and RESTORE, with their expiry. Two servers may serialise the same value differently, for
example in another order of a hash table. So if the bytes differ, the values are compared.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence

from socialsite.batches import batches, group_by
from socialsite.migration.errors import MigrationRefused
from socialsite.migration.placement_map import MigrationRoute
from socialsite.migration.progress import DUMP_TRAILER_BYTES, CopyStatistics
from socialsite.migration.store_pool import StorePool
from socialsite.store.commands import Command, Reply
from socialsite.store.key import Key
from socialsite.store.store import Store

KEYS_PER_BATCH = 100

VALUE_READ_COMMANDS: dict[bytes, Sequence[object]] = {
    b"string": ("GET",), b"list": ("LRANGE", 0, -1), b"hash": ("HGETALL",), b"set": ("SMEMBERS",),
    b"zset": ("ZRANGE", 0, -1, "WITHSCORES"), b"stream": ("XRANGE", "-", "+"),
}  # fmt: skip


class KeyCopier:
    def __init__(self, stores: StorePool, routes: dict[str, MigrationRoute]) -> None:
        self._stores = stores
        self._routes = routes
        self.statistics = CopyStatistics()

    async def copy(self, keys: Collection[Key]) -> list[Key]:
        """Copy keys; return the keys that exist. Raises MigrationRefused if a copy differs from its source."""
        copied: list[Key] = []
        for source, target, batch in self._batches(keys):
            copied += await self._copy(self._stores.store(source), self._stores.store(target), batch)
        for target in {self._routes[key.component].target for key in copied}:
            await self._stores.wait_until_durable(target)
        return copied

    async def delete_from_target(self, keys: Collection[Key]) -> None:
        for _, target, batch in self._batches(keys):
            await self._stores.store(target).execute_all([("UNLINK", key) for key in batch])

    async def delete_from_source(self, keys: Collection[Key]) -> None:
        for source, _, batch in self._batches(keys):
            await self._stores.store(source).execute_all([("UNLINK", key) for key in batch])

    async def _copy(self, source: Store, target: Store, keys: Sequence[Key]) -> list[Key]:
        replies = await source.execute_all(
            [command for key in keys for command in (("DUMP", key), ("PEXPIRETIME", key))]
        )
        dumps = [
            (key, dump, max(0, expires_ms))
            for key, dump, expires_ms in zip(keys, replies[::2], replies[1::2], strict=True)
            if dump is not None
        ]
        commands: list[Command] = []
        for key, dump, expires_ms in dumps:
            commands += [("RESTORE", key, expires_ms, dump, "REPLACE", "ABSTTL"), ("DUMP", key)]
        copies = (await target.execute_all(commands))[1::2]
        for (key, dump, expires_ms), copy in zip(dumps, copies, strict=True):
            if copy is None and expires_ms:
                continue  # the key has expired
            if copy is None or not await self._is_equal(source, target, key, dump, copy):
                raise MigrationRefused(f"{key} arrived differently from how it left: nothing was changed over")
            self.statistics.add(key, dump)
        return [key for key, _, _ in dumps]

    @staticmethod
    async def _is_equal(source: Store, target: Store, key: Key, dump: bytes, copy: bytes) -> bool:
        if dump[:-DUMP_TRAILER_BYTES] == copy[:-DUMP_TRAILER_BYTES]:
            return True
        return await value_digest(source, key) == await value_digest(target, key)

    def _batches(self, keys: Collection[Key]) -> Iterable[tuple[str, str, list[Key]]]:
        """Yield (source URL, target URL, keys of one round trip)."""
        for route, group in group_by(keys, lambda key: self._routes[key.component]).items():
            for batch in batches(group, KEYS_PER_BATCH):
                yield route.source, route.target, batch


async def value_digest(store: Store, key: Key) -> str:
    """Return a digest of the value (type, elements and their order), independent of its serialisation."""
    node = store.node(key)
    value_type = await node.execute("TYPE", key)
    command = VALUE_READ_COMMANDS.get(value_type.encode() if isinstance(value_type, str) else bytes(value_type))
    if command is None:
        return ""
    name, *arguments = command
    value = await node.execute(name, key, *arguments)
    if name == "SMEMBERS":
        value = sorted(value)
    if name == "HGETALL":
        value = sorted(zip(value[::2], value[1::2], strict=True))
    groups = await _read_stream_groups(store, key) if name == "XRANGE" else None
    return hashlib.sha256(repr((value_type, value, groups)).encode()).hexdigest()


async def _read_stream_groups(store: Store, key: Key) -> list[Reply]:
    """Return the name, last delivered id and number of pending entries of each consumer group."""
    groups = []
    for row in await store.node(key).execute("XINFO", "GROUPS", key):
        fields = dict(zip(row[::2], row[1::2], strict=True))
        groups.append((fields[b"name"], fields[b"last-delivered-id"], fields[b"pending"]))
    return groups
