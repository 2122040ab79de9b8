"""The map of client-side shards as every shard keeps it: which map, of which epoch, and which place is mine.

Stored on every shard, so that no server is special (a map on the first alone would make it special):

    map:{shards}:shard          HASH: id, epoch, partitioner, count, checksum; number of this shard, state
    map:{shards}:partition:<n>  STRING: the bitmap of partition n, where the partitioner is range or list

Servers are known by their number, never by their address: one that moves keeps its tags.
"""

import hashlib
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Self

from socialsite.store.commands import Command, Reply, load_script
from socialsite.store.errors import StoreError
from socialsite.store.key import Key
from socialsite.store.node import Node
from socialsite.store.partitioners import (
    PARTITIONERS,
    Partitioner,
    RangePartitioner,
    TablePartitioner,
    balanced_partitioner,
)
from socialsite.store.slots import InvalidSlotMap

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


SAMPLED_KEYS = 1000


def require_position(
    node: Node, held: StoredShardMap | None, number: int, count: int, kind: str | None
) -> StoredShardMap:
    """The shard at place `number` of `count` holds a map of that size and kind, and this place in it."""
    if held is None:
        raise InvalidShardMap(
            f"{node.address} holds no map and other shards of the URL do: restore its data if it was "
            f"emptied, or take it out of the URL and add it with {REPARTITION} if it is a new one"
        )
    made = held.shard_map.partitioner
    if made.count != count:
        raise InvalidShardMap(
            f"the map on {node.address} is one of {made.count} shards and the URL names {count}: name all of "
            f"them in their order, or move the data with {REPARTITION}"
        )
    if held.number != number:
        raise InvalidShardMap(
            f"{node.address} is shard {held.number} of the map and stands at place {number} of the URL "
            "(counted from 0): put the servers back into their order"
        )
    if kind is not None and made.name != kind:
        raise InvalidShardMap(
            f"the map on {node.address} was made with partitioner={made.name} and the URL says {kind}: put "
            f"the old word back, or move the data with {REPARTITION}"
        )
    return held


def require_same_map(nodes: Sequence[Node], shards: Sequence[StoredShardMap]) -> None:
    """All shards hold the same map."""
    one, first = nodes[0].address, shards[0].shard_map
    for node, held in zip(nodes, shards, strict=True):
        if held.shard_map.id != first.id:
            raise InvalidShardMap(
                f"{node.address} belongs to another set of shards than {one}: name the servers of one set "
                "only, or give each set databases of its own (/1)"
            )
        if held.shard_map.epoch != first.epoch:
            raise InvalidShardMap(
                f"{node.address} holds epoch {held.shard_map.epoch} of the map and {one} epoch {first.epoch}: "
                f"a move was broken off, finish it with {REPARTITION}"
            )
        if held.shard_map.checksum != first.checksum:
            raise InvalidShardMap(
                f"{node.address} and {one} hold different maps of one epoch: restore the keys "
                "map:{shards}:* of the one that is wrong"
            )


async def require_no_foreign_keys(
    node: Node, number: int, partitioner: Partitioner, components: Collection[str]
) -> None:
    """A server that comes to a first start holds no keys that were placed by something else.

    They would not be found any more. A bounded look: data moved by changing a URL shows in the first keys.
    """
    _, found = await node.execute("SCAN", 0, "COUNT", SAMPLED_KEYS)
    for text in found:
        try:
            key = Key.parse(text.decode(errors="replace"))
        except ValueError:
            continue
        if key.component in components and partitioner.partition_of(key.tag) != number:
            raise InvalidShardMap(
                f"{node.address} holds data of this site already ({key}) that these shards would look for "
                f"elsewhere: start with empty servers and move the data with {REPARTITION}"
            )


# MERGED-DOC """What shards say at a start, held against the URL. Each refusal is one sentence that says what to do."""
