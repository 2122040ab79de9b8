"""Copying keys from store to store, each compared with what arrived before anybody relies on it.

DUMP and RESTORE, with the time at which a key expires. Two servers may write one value in two ways (the order
of a hash table), so where the bytes differ the values themselves are compared.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from zlib import crc32

from socialsite.migration.errors import MigrationRefused
from socialsite.migration.record import MigrationRoute
from socialsite.migration.store_pool import StorePool
from socialsite.store.commands import Command, Reply
from socialsite.store.key import Key
from socialsite.store.store import Store

KEYS_PER_BATCH = 100
DUMP_TRAILER_BYTES = 10  # bytes of a DUMP that speak of the server: its version and a checksum

VALUE_READ_COMMANDS: dict[bytes, Sequence[object]] = {
    b"string": ("GET",), b"list": ("LRANGE", 0, -1), b"hash": ("HGETALL",), b"set": ("SMEMBERS",),
    b"zset": ("ZRANGE", 0, -1, "WITHSCORES"), b"stream": ("XRANGE", "-", "+"),
}  # fmt: skip


class CopyStatistics:
    """What was copied, by key family: how many keys, how many bytes, a sum of checksums of either side."""

    def __init__(self) -> None:
        self.keys: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.checksums: Counter[str] = Counter()

    def add(self, key: Key, payload: bytes) -> None:
        family = key_family(key)
        self.keys[family] += 1
        self.bytes[family] += len(payload)
        self.checksums[family] = (self.checksums[family] + crc32(payload[:-DUMP_TRAILER_BYTES])) % (1 << 32)


class KeyCopier:
    """Between the sources and the targets of a move."""

    def __init__(self, places: StorePool, paths: dict[str, MigrationRoute]) -> None:
        self._stores = places
        self._routes = paths
        self.statistics = CopyStatistics()

    async def copy(self, keys: Collection[Key]) -> list[Key]:
        """Bring keys over; those that stood there. Raises MigrationRefused where something arrived differently."""
        copied: list[Key] = []
        for source, target, part in self._batches(keys):
            copied += await self._copy(self._stores.store(source), self._stores.store(target), part)
        for target in {self._routes[key.component].target for key in copied}:
            await self._stores.wait_until_durable(target)
        return copied

    async def delete_from_target(self, keys: Collection[Key]) -> None:
        for _, target, part in self._batches(keys):
            await self._stores.store(target).gather([("UNLINK", key) for key in part])

    async def delete_from_source(self, keys: Collection[Key]) -> None:
        for source, _, part in self._batches(keys):
            await self._stores.store(source).gather([("UNLINK", key) for key in part])

    async def _copy(self, source: Store, target: Store, keys: Sequence[Key]) -> list[Key]:
        questions = [question for key in keys for question in (("DUMP", key), ("PEXPIRETIME", key))]
        replies = await source.gather(questions)
        found = [
            (key, payload, max(0, at_ms))
            for key, payload, at_ms in zip(keys, replies[::2], replies[1::2], strict=True)
            if payload is not None
        ]
        commands: list[Command] = []
        for key, payload, at_ms in found:
            commands += [("RESTORE", key, at_ms, payload, "REPLACE", "ABSTTL"), ("DUMP", key)]
        arrived = (await target.gather(commands))[1::2]
        for (key, payload, at_ms), other in zip(found, arrived, strict=True):
            if other is None and at_ms:
                continue  # it expired on the way
            if other is None or not await self._is_equal(source, target, key, payload, other):
                raise MigrationRefused(f"{key} arrived differently from how it left: nothing was changed over")
            self.statistics.add(key, payload)
        return [key for key, _, _ in found]

    @staticmethod
    async def _is_equal(source: Store, target: Store, key: Key, one: bytes, other: bytes) -> bool:
        if one[:-DUMP_TRAILER_BYTES] == other[:-DUMP_TRAILER_BYTES]:
            return True
        return await value_digest(source, key) == await value_digest(target, key)

    def _batches(self, keys: Collection[Key]) -> Iterable[tuple[str, str, list[Key]]]:
        """(source, target, some keys) a round trip."""
        groups: dict[MigrationRoute, list[Key]] = {}
        for key in keys:
            groups.setdefault(self._routes[key.component], []).append(key)
        for path, group in groups.items():
            left = iter(group)
            while part := list(islice(left, KEYS_PER_BATCH)):
                yield path.source, path.target, part


async def value_digest(store: Store, key: Key) -> str:
    """Of the value itself, whatever its bytes on the server: its type, elements and their order if any."""
    node = store.node(key)
    kind = await node.execute("TYPE", key)
    command = VALUE_READ_COMMANDS.get(kind.encode() if isinstance(kind, str) else bytes(kind))
    if command is None:
        return ""
    name, *rest = command
    value = await node.execute(name, key, *rest)
    if name == "SMEMBERS":
        value = sorted(value)
    if name == "HGETALL":
        value = sorted(zip(value[::2], value[1::2], strict=True))
    groups = await _read_stream_groups(store, key) if name == "XRANGE" else None
    return hashlib.sha256(repr((kind, value, groups)).encode()).hexdigest()


async def _read_stream_groups(store: Store, key: Key) -> list[Reply]:
    """The groups of a stream with what they have not acknowledged."""
    node, found = store.node(key), []
    for row in await node.execute("XINFO", "GROUPS", key):
        facts = dict(zip(row[::2], row[1::2], strict=True))
        found.append((facts[b"name"], facts[b"last-delivered-id"], facts[b"pending"]))
    return found


def key_family(key: Key) -> str:
    """`timelines:home`: the component and the words of the name."""
    words = [part for part in key.partition("}:")[2].split(":") if part.isalpha() and not _is_hex(part)]
    return ":".join((key.component, *words))


def _is_hex(part: str) -> bool:
    return len(part) >= 16 and all(character in "0123456789abcdef" for character in part)
