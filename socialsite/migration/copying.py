"""Copying keys from store to store, each compared with what arrived before anybody relies on it.

DUMP and RESTORE, with the time at which a key expires. Two servers may write one value in two ways (the order
of a hash table), so where the bytes differ the values themselves are compared.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from zlib import crc32

from socialsite.migration.errors import MoveRefused
from socialsite.migration.record import Path
from socialsite.migration.store_pool import Places
from socialsite.store.key import Key
from socialsite.store.node import Reply
from socialsite.store.scripts import Command
from socialsite.store.store import Store

KEYS_AT_ONCE = 100
TRAILER = 10  # bytes of a DUMP that speak of the server: its version and a checksum

READ_WHOLE: dict[bytes, Sequence[object]] = {
    b"string": ("GET",), b"list": ("LRANGE", 0, -1), b"hash": ("HGETALL",), b"set": ("SMEMBERS",),
    b"zset": ("ZRANGE", 0, -1, "WITHSCORES"), b"stream": ("XRANGE", "-", "+"),
}  # fmt: skip


class Tally:
    """What was copied, by key family: how many keys, how many bytes, a sum of checksums of either side."""

    def __init__(self) -> None:
        self.keys: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.checksums: Counter[str] = Counter()

    def add(self, key: Key, payload: bytes) -> None:
        family = family_of(key)
        self.keys[family] += 1
        self.bytes[family] += len(payload)
        self.checksums[family] = (self.checksums[family] + crc32(payload[:-TRAILER])) % (1 << 32)


class Copier:
    """Between the sources and the targets of a move."""

    def __init__(self, places: Places, paths: dict[str, Path]) -> None:
        self._places = places
        self._paths = paths
        self.tally = Tally()

    async def copy(self, keys: Collection[Key]) -> list[Key]:
        """Bring keys over; those that stood there. Raises MoveRefused where something arrived differently."""
        copied: list[Key] = []
        for source, target, part in self._batches(keys):
            copied += await self._copy(self._places.store(source), self._places.store(target), part)
        for target in {self._paths[key.component].target for key in copied}:
            await self._places.confirm(target)
        return copied

    async def clear_target(self, keys: Collection[Key]) -> None:
        for _, target, part in self._batches(keys):
            await self._places.store(target).gather([("UNLINK", key) for key in part])

    async def clear_source(self, keys: Collection[Key]) -> None:
        for source, _, part in self._batches(keys):
            await self._places.store(source).gather([("UNLINK", key) for key in part])

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
            if other is None or not await self._same(source, target, key, payload, other):
                raise MoveRefused(f"{key} arrived differently from how it left: nothing was changed over")
            self.tally.add(key, payload)
        return [key for key, _, _ in found]

    @staticmethod
    async def _same(source: Store, target: Store, key: Key, one: bytes, other: bytes) -> bool:
        if one[:-TRAILER] == other[:-TRAILER]:
            return True
        return await digest(source, key) == await digest(target, key)

    def _batches(self, keys: Collection[Key]) -> Iterable[tuple[str, str, list[Key]]]:
        """(source, target, some keys) a round trip."""
        groups: dict[Path, list[Key]] = {}
        for key in keys:
            groups.setdefault(self._paths[key.component], []).append(key)
        for path, group in groups.items():
            left = iter(group)
            while part := list(islice(left, KEYS_AT_ONCE)):
                yield path.source, path.target, part


async def digest(store: Store, key: Key) -> str:
    """Of the value itself, whatever its bytes on the server: its type, elements and their order if any."""
    node = store.node(key)
    kind = await node.execute("TYPE", key)
    command = READ_WHOLE.get(kind.encode() if isinstance(kind, str) else bytes(kind))
    if command is None:
        return ""
    name, *rest = command
    value = await node.execute(name, key, *rest)
    if name == "SMEMBERS":
        value = sorted(value)
    if name == "HGETALL":
        value = sorted(zip(value[::2], value[1::2], strict=True))
    groups = await _groups(store, key) if name == "XRANGE" else None
    return hashlib.sha256(repr((kind, value, groups)).encode()).hexdigest()


async def _groups(store: Store, key: Key) -> list[Reply]:
    """The groups of a stream with what they have not acknowledged."""
    node, found = store.node(key), []
    for row in await node.execute("XINFO", "GROUPS", key):
        facts = dict(zip(row[::2], row[1::2], strict=True))
        found.append((facts[b"name"], facts[b"last-delivered-id"], facts[b"pending"]))
    return found


def family_of(key: Key) -> str:
    """`timelines:home`: the component and the words of the name."""
    words = [part for part in key.partition("}:")[2].split(":") if part.isalpha() and not _is_hex(part)]
    return ":".join((key.component, *words))


def _is_hex(part: str) -> bool:
    return len(part) >= 16 and all(character in "0123456789abcdef" for character in part)
