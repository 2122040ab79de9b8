"""The map of a store: which component stands where, and what is on the move. Kept beside the data.

A store without a record stands as the environment says. URLs are kept as the mover was given them, "" means
the store that holds the record, so it reads the same for processes that reach that store by different URLs.
"""

from binascii import crc_hqx
from typing import Self

import msgspec

from socialsite.store.key import Key
from socialsite.store.pair_partitions import PartitionLayout

SLOT_COUNT = 16_384
SOURCE, WRITES_BLOCKED, READS_SWITCHED, DONE = range(4)
"""What a slice goes through. Writers wait in WRITES_BLOCKED and READS_SWITCHED; readers change over with READS_SWITCHED, when both
copies are equal and nobody writes; so nobody ever reads an older state than somebody else has seen."""
THIS_STORE = ""


class MigrationRoute(msgspec.Struct, frozen=True, array_like=True):
    """Where a component moves from and to: URLs."""

    source: str
    target: str


class Repartition(msgspec.Struct, frozen=True, array_like=True):
    """The edges of a component are cut anew, where they stand; the move then has one slice."""

    component: str
    source: PartitionLayout
    target: PartitionLayout


class Migration(msgspec.Struct, frozen=True):
    """Components on the move, in slices of slots of which each goes by itself; one byte a slice: its state.

    `home`: where the record itself goes in the end, HERE if it stays. `tracked`: processes note which keys
    they write, because the source cannot list the keys of a slot.
    """

    id: str
    paths: dict[str, MigrationRoute]
    slices: bytes
    home: str = THIS_STORE
    tracked: bool = True
    reshape: Repartition | None = None

    @property
    def is_done(self) -> bool:
        return self.slices.count(DONE) == len(self.slices)

    def with_states(self, states: dict[int, int]) -> Self:
        slices = bytearray(self.slices)
        for number, state in states.items():
            slices[number] = state
        return msgspec.structs.replace(self, slices=bytes(slices))

    def rolled_back(self) -> Self:
        """Without its mover: what has not turned over for good stays at the source."""
        return msgspec.structs.replace(self, slices=bytes(state if state == DONE else SOURCE for state in self.slices))

    def reversed(self, id: str) -> Self:
        """The way back from wherever it stands."""
        paths = {name: MigrationRoute(path.target, path.source) for name, path in self.paths.items()}
        slices = bytes(SOURCE if state == DONE else DONE for state in self.slices)
        return msgspec.structs.replace(self, id=id, paths=paths, slices=slices, home=THIS_STORE, tracked=True)


class PlacementMap(msgspec.Struct, frozen=True):
    """The record. `forward`: everything of this store, its map too, has gone there."""

    epoch: int
    placed: dict[str, str] = {}
    move: Migration | None = None
    forward: str = THIS_STORE
    arriving: str = ""
    """The store a move brought the map from, while not everybody there was told yet."""
    layouts: dict[str, PartitionLayout] = {}
    """Components whose edges were cut anew."""

    @property
    def current_layouts(self) -> dict[str, PartitionLayout]:
        """As readers and writers use them in this state."""
        reshape = self.move.reshape if self.move else None
        if self.move is None or reshape is None:
            return self.layouts
        has_turned = self.move.slices[0] in (READS_SWITCHED, DONE)
        return {**self.layouts, reshape.component: reshape.target if has_turned else reshape.source}

    def next_epoch(self, **changes: object) -> Self:
        """The next epoch."""
        return msgspec.structs.replace(self, epoch=self.epoch + 1, **changes)

    def url_of(self, component: str) -> str:
        return self.placed.get(component, THIS_STORE)


encode_placement_map = msgspec.msgpack.Encoder().encode
decode_placement_map = msgspec.msgpack.Decoder(PlacementMap).decode
EMPTY_PLACEMENT_MAP = PlacementMap(0)


def slice_of(tag: str, count: int) -> int:
    """The slice of a tag: ranges of slots, the first beginning at 0."""
    return crc_hqx(tag.encode(), 0) % SLOT_COUNT * count // SLOT_COUNT


def slots_of(number: int, count: int) -> range:
    """The slots of a slice."""
    return range(-(-number * SLOT_COUNT // count), -(-(number + 1) * SLOT_COUNT // count))


def _key(name: str) -> Key:
    return Key("map", tag="placement", name=name)


def record_key() -> Key:
    """HASH: epoch, body (a Placement). For ever, once something has moved; written by the mover."""
    return _key("record")


def leases_key() -> Key:
    """ZSET: store of a process -> server's ms at which its lease ends. Renewed twice a second by each."""
    return _key("leases")


def followed_epochs_key() -> Key:
    """HASH: store of a process -> epoch that it follows, and nothing older is under way in it."""
    return _key("seen")


def changes_key() -> Key:
    """STREAM of epochs, the last few: processes wait on it while something moves."""
    return _key("changes")


def migrator_lock_key() -> Key:
    """STRING with a TTL of 3 s: the token of the mover. Without it, a slice under way is thawed."""
    return _key("mover")


def touched_keys_key(number: int) -> Key:
    """SET of the keys of a slice that were written since its move began. Until the slice has moved."""
    return _key(f"touched:{number}")
