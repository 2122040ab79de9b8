"""The map of client-side shards as every shard keeps it: which map, of which epoch, and which place is mine.

Stored on every shard, so that no server is special (a map on the first alone would make it special):

    map:{shards}:shard          HASH: id, epoch, partitioner, count, checksum; number of this shard, state
    map:{shards}:partition:<n>  STRING: the bitmap of partition n, where the partitioner is range or list

Servers are known by their number, never by their address: one that moves keeps its tags.
"""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Self

from socialsite.store.errors import StoreError
from socialsite.store.key import Key
from socialsite.store.node import Node, Reply
from socialsite.store.partition import (
    PARTITIONERS,
    Partitioner,
    RangePartitioner,
    TablePartitioner,
    balanced_partitioner,
)
from socialsite.store.partition.bitmaps import InvalidSlotMap
from socialsite.store.scripts import Command, load_script

FORM_SHARD = load_script("form_shard.lua", __package__)
FORMING, FORMED = "forming", "formed"
REPARTITION = "`manage.py repartition`"


class InvalidShardMap(StoreError):
    """The shards do not stand as the URL says. The message says what to do."""


def shard_key() -> Key:
    """HASH: the map, and this shard's place in it. Made at first start, never changed but by a move."""
    return Key("map", tag="shards", name="shard")


def bitmap_key(number: int) -> Key:
    """STRING: 16,384 bits, the slots of one partition. On every shard, for range and list."""
    return Key("map", tag="shards", name=f"partition:{number}")


@dataclass(frozen=True, slots=True)
class ShardMap:
    """A map. Equal checksums are equal maps."""

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
        made = self.partitioner
        text = f"{self.id} {self.epoch} {made.name} {made.count}"
        return hashlib.sha256(b"\n".join((text.encode(), *self.bitmaps))).hexdigest()

    def form_command(self, number: int) -> Command:
        """Write the map to shard `number`, unless a map stands there; 1 if it was written."""
        fields = {
            "id": self.id, "epoch": self.epoch, "partitioner": self.partitioner.name,
            "count": self.partitioner.count, "checksum": self.checksum, "number": number, "state": FORMING,
        }  # fmt: skip
        bitmaps = self.bitmaps
        keys = [shard_key(), *(bitmap_key(place) for place in range(len(bitmaps)))]
        return FORM_SHARD.command(keys, [*bitmaps, *(part for pair in fields.items() for part in pair)])


@dataclass(frozen=True, slots=True)
class StoredShardMap:
    """What one shard says."""

    shard_map: ShardMap
    number: int
    is_formed: bool


async def read_shard_map(node: Node) -> StoredShardMap | None:
    """The map on a shard; None where there is none. Raises InvalidShardMap where it is damaged."""
    fields = parse_hash(await node.execute("HGETALL", shard_key()))
    if not fields:
        return None
    try:
        count = int(fields["count"])
        kind = fields["partitioner"]
        keys = (
            [bitmap_key(number) for number in range(count)]
            if kind in (RangePartitioner.name, TablePartitioner.name)
            else []
        )
        bitmaps = await node.pipeline([("GET", key) for key in keys])
        partitioner = load_partitioner(kind, count, tuple(bitmap or b"" for bitmap in bitmaps))
        found = ShardMap(fields["id"], int(fields["epoch"]), partitioner)
        held = StoredShardMap(found, int(fields["number"]), fields["state"] == FORMED)
    except (KeyError, ValueError) as error:
        raise damaged_map_error(node, str(error)) from error
    if found.checksum != fields["checksum"]:
        raise damaged_map_error(node, "its checksum is wrong")
    return held


@cache
def load_partitioner(kind: str, count: int, bitmaps: tuple[bytes, ...]) -> Partitioner:
    """Raises ValueError (InvalidSlotMap) where the stored form is no whole map."""
    if kind == TablePartitioner.name:
        listed = TablePartitioner.from_bitmaps(bitmaps)
        if listed.unassigned_slots:
            raise InvalidSlotMap(f"{len(listed.unassigned_slots)} slots stand on no list")
        return listed
    if kind not in PARTITIONERS:
        raise ValueError(f"nobody knows a partitioner {kind!r}")
    made = balanced_partitioner(kind, count)
    if isinstance(made, RangePartitioner):
        made.verify_bitmaps(bitmaps)
    return made


def parse_hash(reply: Reply) -> Mapping[str, str]:
    return {name.decode(): value.decode() for name, value in zip(reply[::2], reply[1::2], strict=True)}


def damaged_map_error(node: Node, reason: str) -> InvalidShardMap:
    return InvalidShardMap(
        f"the map of shards on {node.address} is damaged ({reason}): restore that server from a backup, or "
        "copy the keys map:{shards}:* of another shard to it, with its own number"
    )
