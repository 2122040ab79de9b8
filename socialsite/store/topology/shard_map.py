"""The map of client-side shards: the partitioner, the epoch, and the number of each shard.

The map is stored on every shard, so that no server is special:

    map:{shards}:shard          HASH: id, epoch, partitioner, count, checksum; number of this shard, state
    map:{shards}:partition:<n>  STRING: the bitmap of partition n, if the partitioner is range or list

A shard is identified by its number, so that a server that changes its address keeps its tags. The functions
`require_...` compare the stored maps with the URL at each start; an error text says what the operator has to do.
"""

import hashlib
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Self

from socialsite.store.commands import Command, load_script
from socialsite.store.errors import StoreError
from socialsite.store.key import Key
from socialsite.store.key_families import INSTALLATION, key_by_id, single_key
from socialsite.store.node import Node
from socialsite.store.partitioners import (
    PARTITIONERS,
    Partitioner,
    RangePartitioner,
    TablePartitioner,
    balanced_partitioner,
)
from socialsite.store.replies import parse_hash
from socialsite.store.slots import InvalidSlotMap

FORM_SHARD = load_script("form_shard.lua", __package__)
FORMING, FORMED = "forming", "formed"
REPARTITION = "`manage.py repartition`"


SHARDS_ONLY = "`redis+shards://`, on every shard"


class InvalidShardMap(StoreError):
    """The stored maps do not agree with the URL. The message says what to do."""


shard_key = single_key("map:{shards}:shard", "hash",
    "the map (id, epoch, partitioner, count, checksum) and the number of this shard in it. Only a migration changes it",
    role=INSTALLATION, condition=SHARDS_ONLY)  # fmt: skip
bitmap_key = key_by_id("map:{shards}:partition:<n>", "string",
    "16,384 bits, the slots of partition n (partitioner range or list)", role=INSTALLATION, cap="one a shard",
    condition=SHARDS_ONLY)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ShardMap:
    """A map of client-side shards. Maps with equal checksums are equal."""

    id: str
    epoch: int
    partitioner: Partitioner

    @classmethod
    def new(cls, kind: str, count: int) -> Self:
        return cls(secrets.token_hex(8), 1, balanced_partitioner(kind, count))

    @property
    def bitmaps(self) -> list[bytes]:
        return self.partitioner.bitmaps if isinstance(self.partitioner, (RangePartitioner, TablePartitioner)) else []

    @property
    def checksum(self) -> str:
        text = f"{self.id} {self.epoch} {self.partitioner.name} {self.partitioner.count}"
        return hashlib.sha256(b"\n".join((text.encode(), *self.bitmaps))).hexdigest()

    def form_command(self, number: int) -> Command:
        """Return the command that writes the map to shard `number` unless it has a map. It replies 1 if it wrote."""
        fields = {
            "id": self.id, "epoch": self.epoch, "partitioner": self.partitioner.name,
            "count": self.partitioner.count, "checksum": self.checksum, "number": number, "state": FORMING,
        }  # fmt: skip
        bitmaps = self.bitmaps
        keys = [shard_key(), *(bitmap_key(n) for n in range(len(bitmaps)))]
        return FORM_SHARD.command(keys, [*bitmaps, *(part for pair in fields.items() for part in pair)])


@dataclass(frozen=True, slots=True)
class StoredShardMap:
    """The map on one shard. `number` is the number of that shard."""

    shard_map: ShardMap
    number: int
    is_formed: bool


async def read_shard_map(node: Node) -> StoredShardMap | None:
    """Return the map on a shard, or None if the shard has no map. Raises InvalidShardMap if the map is damaged."""
    fields = parse_hash(await node.execute("HGETALL", shard_key()))
    if not fields:
        return None
    try:
        count = int(fields["count"])
        kind = fields["partitioner"]
        has_bitmaps = kind in (RangePartitioner.name, TablePartitioner.name)
        bitmaps = await node.execute_all([("GET", bitmap_key(n)) for n in range(count if has_bitmaps else 0)])
        partitioner = load_partitioner(kind, count, tuple(bitmap or b"" for bitmap in bitmaps))
        shard_map = ShardMap(fields["id"], int(fields["epoch"]), partitioner)
        stored = StoredShardMap(shard_map, int(fields["number"]), fields["state"] == FORMED)
    except (KeyError, ValueError) as error:
        raise damaged_map_error(node, str(error)) from error
    if shard_map.checksum != fields["checksum"]:
        raise damaged_map_error(node, "its checksum is wrong")
    return stored


@cache
def load_partitioner(kind: str, count: int, bitmaps: tuple[bytes, ...]) -> Partitioner:
    """Return the stored partitioner. Raises ValueError if its kind is unknown or its bitmaps are wrong."""
    if kind == TablePartitioner.name:
        table = TablePartitioner.from_bitmaps(bitmaps)
        if table.unassigned_slots:
            raise InvalidSlotMap(f"{len(table.unassigned_slots)} slots belong to no partition")
        return table
    if kind not in PARTITIONERS:
        raise ValueError(f"the partitioner {kind!r} is unknown")
    partitioner = balanced_partitioner(kind, count)
    if isinstance(partitioner, RangePartitioner):
        partitioner.verify_bitmaps(bitmaps)
    return partitioner


def damaged_map_error(node: Node, reason: str) -> InvalidShardMap:
    return InvalidShardMap(
        f"the map of shards on {node.address} is damaged ({reason}): restore that server from a backup, or "
        "copy the keys map:{shards}:* of another shard to it, with its own number"
    )


async def require_no_shard(node: Node) -> None:
    """Raise InvalidShardMap if a single server is one of several shards."""
    number, count = await node.execute("HMGET", shard_key(), "number", "count")
    if number is not None:
        raise InvalidShardMap(
            f"{node.address} is shard {int(number)} of {int(count or 0)} and holds a part of the data: name all shards "
            "(redis+shards://), or delete the keys map:{shards}:* there if no site uses them any more"
        )


SAMPLED_KEYS = 1000


def require_position(
    node: Node, stored: StoredShardMap | None, number: int, count: int, kind: str | None
) -> StoredShardMap:
    """Return the map on the shard that is number `number` of `count` in the URL.

    Raises InvalidShardMap if there is no map, or if it has another count, partitioner or shard number.
    """
    if stored is None:
        raise InvalidShardMap(
            f"{node.address} holds no map and other shards of the URL do: restore its data if it was "
            f"emptied, or take it out of the URL and add it with {REPARTITION} if it is a new one"
        )
    partitioner = stored.shard_map.partitioner
    if partitioner.count != count:
        raise InvalidShardMap(
            f"the map on {node.address} is one of {partitioner.count} shards and the URL names {count}: name all of "
            f"them in their order, or move the data with {REPARTITION}"
        )
    if stored.number != number:
        raise InvalidShardMap(
            f"{node.address} is shard {stored.number} of the map and at position {number} of the URL "
            "(counted from 0): put the servers back into their order"
        )
    if kind is not None and partitioner.name != kind:
        raise InvalidShardMap(
            f"the map on {node.address} was made with partitioner={partitioner.name} and the URL says {kind}: put "
            f"the old word back, or move the data with {REPARTITION}"
        )
    return stored


def require_same_map(nodes: Sequence[Node], shards: Sequence[StoredShardMap]) -> None:
    """Raise InvalidShardMap if a shard has another map than the first one."""
    first_address, first_map = nodes[0].address, shards[0].shard_map
    for node, stored in zip(nodes, shards, strict=True):
        if stored.shard_map.id != first_map.id:
            raise InvalidShardMap(
                f"{node.address} belongs to another set of shards than {first_address}: name the servers of one set "
                "only, or give each set databases of its own (/1)"
            )
        if stored.shard_map.epoch != first_map.epoch:
            raise InvalidShardMap(
                f"{node.address} holds epoch {stored.shard_map.epoch} of the map and {first_address} epoch "
                f"{first_map.epoch}: a move was broken off, finish it with {REPARTITION}"
            )
        if stored.shard_map.checksum != first_map.checksum:
            raise InvalidShardMap(
                f"{node.address} and {first_address} hold different maps of one epoch: restore the keys "
                "map:{shards}:* of the one that is wrong"
            )


async def require_no_foreign_keys(
    node: Node, number: int, partitioner: Partitioner, components: Collection[str]
) -> None:
    """Raise InvalidShardMap if a server has keys that the partitioner places on another shard.

    This is checked at the first start, because the site would not find such keys. The first keys of each server are
    enough to recognize that a URL was changed without a migration of the data.
    """
    _, texts = await node.execute("SCAN", 0, "COUNT", SAMPLED_KEYS)
    for text in texts:
        try:
            key = Key.parse(text.decode(errors="replace"))
        except ValueError:
            continue
        if key.component in components and partitioner.partition_of(key.tag) != number:
            raise InvalidShardMap(
                f"{node.address} holds data of this site already ({key}) that these shards would look for "
                f"elsewhere: start with empty servers and move the data with {REPARTITION}"
            )
