"""The placement map of a store: the URL of each component, and the migration in progress.

The map is stored with the data. A store without a map uses the URLs of the environment. URLs are stored as the
operator entered them. "" means the store that contains the map, so that processes may use different URLs for it.
"""

from binascii import crc_hqx
from typing import Self

import msgspec

from socialsite.store.key_families import INSTALLATION, key_by_id, single_key
from socialsite.store.pair_partitions import PartitionLayout

SLOT_COUNT = 16_384
THIS_STORE = ""
SOURCE, WRITES_BLOCKED, READS_SWITCHED, DONE = range(4)
"""States of a slice. Writers wait during WRITES_BLOCKED and READS_SWITCHED. Readers use the target from
READS_SWITCHED on. Then both copies are equal and nothing is written, so all readers see the same state."""


class MigrationRoute(msgspec.Struct, frozen=True, array_like=True):
    """The URLs from which and to which a component is migrated."""

    source: str
    target: str


class Repartition(msgspec.Struct, frozen=True, array_like=True):
    """A change of the partition layout of a component's edges in one store. Such a migration has one slice."""

    component: str
    source: PartitionLayout
    target: PartitionLayout


class Migration(msgspec.Struct, frozen=True):
    """A migration of components, slice by slice. `slice_states` has one byte per slice.

    `new_home_url` is the store to which the map itself is moved at the end, or THIS_STORE if the map is not moved.
    If `track_writes` is true, processes report the keys that they write, because the source cannot list the keys of a
    slot.
    """

    id: str
    routes: dict[str, MigrationRoute] = msgspec.field(name="paths")
    slice_states: bytes = msgspec.field(name="slices")
    new_home_url: str = msgspec.field(name="home", default=THIS_STORE)
    track_writes: bool = msgspec.field(name="tracked", default=True)
    repartition: Repartition | None = msgspec.field(name="reshape", default=None)

    def with_states(self, states: dict[int, int]) -> Self:
        slice_states = bytearray(self.slice_states)
        for number, state in states.items():
            slice_states[number] = state
        return msgspec.structs.replace(self, slice_states=bytes(slice_states))

    def rolled_back(self) -> Self:
        """Return the migration with all unfinished slices at the source. It is used after the migrator died."""
        states = bytes(state if state == DONE else SOURCE for state in self.slice_states)
        return msgspec.structs.replace(self, slice_states=states)

    def reversed(self, id: str) -> Self:
        """Return the migration that moves the DONE slices back to the sources."""
        routes = {name: MigrationRoute(route.target, route.source) for name, route in self.routes.items()}
        states = bytes(SOURCE if state == DONE else DONE for state in self.slice_states)
        return msgspec.structs.replace(
            self, id=id, routes=routes, slice_states=states, new_home_url=THIS_STORE, track_writes=True
        )


class PlacementMap(msgspec.Struct, frozen=True):
    """The placement map. `forwarded_to` is the store to which all data, including the map, was migrated."""

    epoch: int
    component_urls: dict[str, str] = msgspec.field(name="placed", default_factory=dict)
    migration: Migration | None = msgspec.field(name="move", default=None)
    forwarded_to: str = msgspec.field(name="forward", default=THIS_STORE)
    arriving_from: str = msgspec.field(name="arriving", default="")
    """The store from which the map was moved. It is set until all processes of that store follow the new map."""
    partition_layouts: dict[str, PartitionLayout] = msgspec.field(name="layouts", default_factory=dict)
    """The layouts of components whose edges were repartitioned."""

    @property
    def current_layouts(self) -> dict[str, PartitionLayout]:
        """The layouts that readers and writers use in the current state."""
        migration = self.migration
        if migration is None or migration.repartition is None:
            return self.partition_layouts
        repartition = migration.repartition
        is_switched = migration.slice_states[0] in (READS_SWITCHED, DONE)
        layout = repartition.target if is_switched else repartition.source
        return {**self.partition_layouts, repartition.component: layout}

    def next_epoch(self, **changes: object) -> Self:
        """Return the map of the next epoch with these fields changed."""
        return msgspec.structs.replace(self, epoch=self.epoch + 1, **changes)

    def url_of(self, component: str) -> str:
        return self.component_urls.get(component, THIS_STORE)


encode_placement_map = msgspec.msgpack.Encoder().encode
decode_placement_map = msgspec.msgpack.Decoder(PlacementMap).decode
EMPTY_PLACEMENT_MAP = PlacementMap(0)


def slice_of(tag: str, count: int) -> int:
    """Return the slice of a tag. Slices are ranges of slots; the first begins at slot 0."""
    return crc_hqx(tag.encode(), 0) % SLOT_COUNT * count // SLOT_COUNT


def slots_of(number: int, count: int) -> range:
    return range(-(-number * SLOT_COUNT // count), -(-(number + 1) * SLOT_COUNT // count))


MIGRATED_ONLY = "a migration runs or ran ([migration](migration.md))"
record_key = single_key("map:{placement}:record", "hash",
    "epoch, components, stores and slices (MessagePack), written by the migrator", role=INSTALLATION,
    condition=MIGRATED_ONLY)  # fmt: skip
leases_key = single_key("map:{placement}:leases", "zset",
    "stores of running processes, by the ms at which their lease ends. Each process renews its lease twice a second",
    role=INSTALLATION, cap="processes; crashed ones for a day")  # fmt: skip
followed_epochs_key = single_key("map:{placement}:seen", "hash",
    "store of a process -> epoch that it follows; it has no command of an older epoch in flight", role=INSTALLATION,
    cap="as the leases")  # fmt: skip
changes_key = single_key("map:{placement}:changes", "stream",
    "epochs; processes wait for new entries during a migration", role=INSTALLATION, cap=16,
    condition=MIGRATED_ONLY)  # fmt: skip
migrator_lock_key = single_key("map:{placement}:mover", "string",
    "token of the running migration. If it expires, processes roll back the slice in progress", role=INSTALLATION,
    lifetime="3 s", condition=MIGRATED_ONLY)  # fmt: skip
fence_key = single_key("map:{placement}:fence", "string",
    "epoch of the last migration to or from this server; on each server that is not in a cluster", role=INSTALLATION,
    condition=MIGRATED_ONLY)  # fmt: skip
touched_keys_key = key_by_id("map:{placement}:touched:<n>", "set",
    "keys of slice n that were written since the migration began", role=INSTALLATION, cap="keys of the slice",
    lifetime="none; until the slice has moved", condition=MIGRATED_ONLY)  # fmt: skip
dump_probe = single_key("map:{placement}:probe", "string",
    "whether the target of a migration can read the dumps of the source", role=INSTALLATION, lifetime="10 s",
    condition="a migration starts")  # fmt: skip
