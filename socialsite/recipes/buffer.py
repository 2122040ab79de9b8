"""Buffers: counts and last-write-wins marks that many requests change and one flusher writes to their totals.

The seed's "sentry.buffers" without its losses. An entity (`post:123`) lives in one of 64 virtual partitions,
each with a pending set of its own, so every node carries those of its partitions:

    series:{b7}:buffer:post:123   HASH  id: 1763650440123, +views: 3, =seen: "<ms> <value>"
    series:{b7}:pending           ZSET  post:123 -> ms of its first unflushed change
    series:{b7}:batch:post:123    HASH  a buffer that was taken: renamed, so its clearing is the same step
    series:{b7}:taken             ZSET  post:123 -> ms at which it was taken
    series:{b7}:batches           STRING  the last batch id given out

A buffer gets its batch id at birth. It rises with each buffer of an entity, and an entity has at most one
batch on its way; so whoever applies batches need only remember the last id (`buffer_totals.py`), and may be
asked any number of times. A batch whose flusher died is handed out again after LEASE_MS.
Which of two marks is the later one is said by their own times, not by their arrival.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self
from zlib import crc32

from socialsite.store import Command, Key, Reply, Store, load_script

PARTITION_COUNT = 64
BATCH_LEASE_MS = 60_000
"""For so long a taken batch is its flusher's; flushing one takes milliseconds."""

ADD, TAKE, FINISH_BATCH = (load_script(f"buffer_{name}.lua", __package__) for name in ("add", "take", "done"))


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """What is counted. `kind` is a fixed word, never user text."""

    kind: str
    id: int

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.id}"

    @property
    def tag(self) -> str:
        return f"b{crc32(self.name.encode()) % PARTITION_COUNT}"

    @classmethod
    def parse(cls, name: bytes) -> Self:
        kind, id = name.decode().split(":")
        return cls(kind, int(id))


@dataclass(frozen=True, slots=True)
class TimestampedValue:
    """A last-write-wins value; `at_ms` decides which write was the last."""

    at_ms: int
    value: str

    @classmethod
    def parse(cls, text: bytes) -> Self:
        at_ms, _, value = text.decode().partition(" ")
        return cls(int(at_ms), value)

    def latest_of(self, other: "TimestampedValue | None") -> "TimestampedValue":
        return self if other is None or self.at_ms >= other.at_ms else other


@dataclass(slots=True)
class Change:
    """Counts and marks by field; fields are fixed words."""

    counts: dict[str, int] = field(default_factory=dict)
    values: dict[str, TimestampedValue] = field(default_factory=dict)

    def add_count(self, name: str, amount: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + amount

    def set_value(self, name: str, mark: TimestampedValue) -> None:
        self.values[name] = mark.latest_of(self.values.get(name))

    def merge(self, other: "Change") -> None:
        for name, amount in other.counts.items():
            self.add_count(name, amount)
        for name, mark in other.values.items():
            self.set_value(name, mark)

    @property
    def script_arguments(self) -> list[str | int]:
        """As the scripts take it: number of counts, (field, amount)..., (field, ms, value)..."""
        counts = [part for pair in self.counts.items() for part in pair]
        marks = [part for name, mark in self.values.items() for part in (name, mark.at_ms, mark.value)]
        return [len(self.counts), *counts, *marks]


@dataclass(frozen=True, slots=True)
class Batch:
    """What an entity's buffer held. `id` rises from batch to batch of an entity."""

    entity: Entity
    id: int
    change: Change


def buffer_key(entity: Entity) -> Key:
    """HASH: unflushed counts (`+field`) and marks (`=field`) of an entity, and their batch `id`."""
    return Key("series", tag=entity.tag, name=f"buffer:{entity.name}")


def batch_key(entity: Entity) -> Key:
    """HASH: a buffer that a flusher took; deleted once it is applied."""
    return Key("series", tag=entity.tag, name=f"batch:{entity.name}")


def pending_key(tag: str) -> Key:
    """ZSET: entity -> ms of its oldest unflushed change. One member for each buffer."""
    return Key("series", tag=tag, name="pending")


def taken_key(tag: str) -> Key:
    """ZSET: entity -> ms at which its batch was taken. One member for each batch."""
    return Key("series", tag=tag, name="taken")


def last_batch_key(tag: str) -> Key:
    """STRING: the last batch id of the partition."""
    return Key("series", tag=tag, name="batches")


PARTITION_TAGS = tuple(f"b{number}" for number in range(PARTITION_COUNT))


def add_command(entity: Entity, change: Change, now_ms: int) -> Command:
    """Add to an entity's buffer; for a pipeline of the caller."""
    keys = [buffer_key(entity), pending_key(entity.tag), last_batch_key(entity.tag)]
    return ADD.command(keys, [now_ms, entity.name, *change.script_arguments])


def find_due_commands(tag: str, now_ms: int, limit: int) -> tuple[Command, Command]:
    """The oldest entities of a partition: batches left behind, then buffers."""
    left = ("ZRANGEBYSCORE", taken_key(tag), "-inf", now_ms - BATCH_LEASE_MS, "LIMIT", 0, limit)
    return left, ("ZRANGE", pending_key(tag), 0, limit - 1)


def take_command(entity: Entity, now_ms: int) -> Command:
    keys = [buffer_key(entity), batch_key(entity), pending_key(entity.tag), taken_key(entity.tag)]
    return TAKE.command(keys, [entity.name, now_ms, BATCH_LEASE_MS])


def finish_command(applied: Batch) -> Command:
    entity = applied.entity
    return FINISH_BATCH.command([batch_key(entity), taken_key(entity.tag)], [entity.name, applied.id])


def parse_batch(entity: Entity, reply: Reply) -> Batch | None:
    """The batch in the fields of a buffer; None where there is none."""
    found: dict[bytes, bytes] = dict(zip(reply[::2], reply[1::2], strict=True))
    return Batch(entity, int(found[b"id"]), parse_change(found)) if found else None


def parse_change(fields: Mapping[bytes, bytes]) -> Change:
    """Counts and marks among the fields of a hash."""
    change = Change()
    for name, value in fields.items():
        if name.startswith(b"+"):
            change.counts[name[1:].decode()] = int(value)
        elif name.startswith(b"="):
            change.values[name[1:].decode()] = TimestampedValue.parse(value)
    return change


class Buffers:
    """Buffers over a store; `buffer_flush.py` empties them."""

    def __init__(self, store: Store) -> None:
        self._series = store.component("series")

    async def add(self, changes: Mapping[Entity, Change], now_ms: int) -> None:
        """Add to the buffers of several entities, in one round trip a node."""
        await self._series.gather([add_command(*each, now_ms) for each in changes.items()])

    async def read_unflushed(self, entities: Sequence[Entity]) -> list[list[Batch]]:
        """For each entity what is not applied yet, or was just now: compare the ids with its totals'.

        The buffer is read before the batch: one that is taken in between is seen twice, never missed.
        """
        keys = [key for entity in entities for key in (buffer_key(entity), batch_key(entity))]
        replies = await self._series.gather([("HGETALL", key) for key in keys])
        pairs = zip(entities, replies[::2], replies[1::2], strict=True)
        return [_unique_batches(parse_batch(entity, each) for each in (older, newer)) for entity, older, newer in pairs]

    async def count_waiting(self) -> int:
        """How many entities have unflushed changes."""
        keys = [key for tag in PARTITION_TAGS for key in (pending_key(tag), taken_key(tag))]
        return sum(await self._series.gather([("ZCARD", key) for key in keys]))


def _unique_batches(found: Iterable[Batch | None]) -> list[Batch]:
    """Of one id the later look counts."""
    return list({each.id: each for each in found if each is not None}.values())
