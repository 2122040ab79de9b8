"""Buffered counters and last-write-wins values, as in Sentry's `sentry.buffers`, but without lost updates.

Requests write to a buffer. A flusher moves buffers to the entity's totals, each exactly once.
An entity (`post:123`) belongs to one of 64 virtual partitions, and each partition has its own pending set:

    series:{b7}:buffer:post:123   HASH  id: 1763650440123, +views: 3, =seen: "<ms> <value>"
    series:{b7}:pending           ZSET  post:123 -> ms of its first unflushed change
    series:{b7}:batch:post:123    HASH  the buffer after a flusher renamed it, so new changes start a new buffer
    series:{b7}:taken             ZSET  post:123 -> ms at which a flusher took the batch
    series:{b7}:batches           STRING  the last batch id of the partition
    <key of the entity's totals>  HASH  batch: id of the last applied batch, +views: 120, =seen: "<ms> <value>"

A buffer receives its batch id when it is created. The ids of an entity increase, and an entity has at most one
batch at a time. The totals store the last applied id in the same script that adds the counts, so a batch that is
applied again changes nothing. If a flusher dies, another flusher takes the batch after BATCH_LEASE_MS.
Of two values for the same field, the value with the later timestamp wins, whatever the order of arrival.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self
from zlib import crc32

from socialsite.recipes.partial import gather_partial
from socialsite.store import Command, Key, Reply, Repository, Store, StoreError, load_script
from socialsite.store.key_families import key_by_word, key_family

PARTITION_COUNT = 64
PARTITION_TAGS = tuple(f"b{number}" for number in range(PARTITION_COUNT))
BATCH_LEASE_MS = 60_000
"""The time in ms after which another flusher may take the batch. Flushing a batch takes milliseconds."""
ENTITIES_PER_ROUND = 32  # entities of each partition; a round takes three round trips per node
MAX_BATCHES_PER_FLUSH = 10_000

ADD, TAKE, APPLY, FINISH = (
    load_script(f"buffer_{name}.lua", __package__) for name in ("add", "take", "apply", "finish")
)


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """An object with buffered fields. `kind` is a fixed word, never user text."""

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
    """A last-write-wins value; the value with the highest `at_ms` wins."""

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
    """Counts and timestamped values by field name. Field names are fixed words."""

    counts: dict[str, int] = field(default_factory=dict)
    values: dict[str, TimestampedValue] = field(default_factory=dict)

    @classmethod
    def from_hash(cls, fields: Mapping[bytes, bytes]) -> Self:
        """Parse the counts (`+field`) and values (`=field`) of a buffer or of totals; ignore other fields."""
        change = cls()
        for name, value in fields.items():
            if name.startswith(b"+"):
                change.counts[name[1:].decode()] = int(value)
            elif name.startswith(b"="):
                change.values[name[1:].decode()] = TimestampedValue.parse(value)
        return change

    def add_count(self, name: str, amount: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + amount

    def set_value(self, name: str, value: TimestampedValue) -> None:
        """Set the field unless its current value has a later timestamp."""
        self.values[name] = value.latest_of(self.values.get(name))

    def merge(self, other: "Change") -> None:
        for name, amount in other.counts.items():
            self.add_count(name, amount)
        for name, value in other.values.items():
            self.set_value(name, value)

    @property
    def script_arguments(self) -> list[str | int]:
        """Return the number of counts, then (field, amount) for each, then (field, ms, value) for each value."""
        counts = [part for pair in self.counts.items() for part in pair]
        values = [part for name, value in self.values.items() for part in (name, value.at_ms, value.value)]
        return [len(self.counts), *counts, *values]


@dataclass(frozen=True, slots=True)
class Batch:
    """The buffered changes of an entity. The ids of an entity's batches increase."""

    entity: Entity
    id: int
    change: Change


_buffer_key: Callable[[str, str, int], Key] = key_family("series:{<bucket>}:buffer:<kind>:<id>", "hash",
    "unflushed counts (`+field`) and values (`=field`) of an entity, and the id of their batch", cap="fields",
    lifetime="none; until the next flush")  # fmt: skip
_batch_key: Callable[[str, str, int], Key] = key_family("series:{<bucket>}:batch:<kind>:<id>", "hash",
    "a buffer that a flusher took", cap="fields", lifetime="none; until it is applied to the totals")  # fmt: skip
pending_key = key_by_word("series:{<bucket>}:pending", "zset",
    "entities with a buffer, by the ms of their oldest unflushed change", cap="one a buffer")  # fmt: skip
taken_key = key_by_word("series:{<bucket>}:taken", "zset",
    "entities with a batch, by the ms at which a flusher took it", cap="one a batch")  # fmt: skip
last_batch_key = key_by_word("series:{<bucket>}:batches", "string",
    "the last batch id of a partition (`b0` to `b63`)")  # fmt: skip


def buffer_key(entity: Entity) -> Key:
    return _buffer_key(entity.tag, entity.kind, entity.id)


def batch_key(entity: Entity) -> Key:
    return _batch_key(entity.tag, entity.kind, entity.id)


def add_command(entity: Entity, change: Change, now_ms: int) -> Command:
    """Return the command that adds a change to an entity's buffer, for the caller's pipeline."""
    keys = [buffer_key(entity), pending_key(entity.tag), last_batch_key(entity.tag)]
    return ADD.command(keys, [now_ms, entity.name, *change.script_arguments])


def find_due_commands(tag: str, now_ms: int, limit: int) -> tuple[Command, Command]:
    """Return two commands, which read a partition's batches with an expired lease, and its oldest buffers."""
    expired = ("ZRANGEBYSCORE", taken_key(tag), "-inf", now_ms - BATCH_LEASE_MS, "LIMIT", 0, limit)
    return expired, ("ZRANGE", pending_key(tag), 0, limit - 1)


def take_command(entity: Entity, now_ms: int) -> Command:
    keys = [buffer_key(entity), batch_key(entity), pending_key(entity.tag), taken_key(entity.tag)]
    return TAKE.command(keys, [entity.name, now_ms, BATCH_LEASE_MS])


def finish_command(batch: Batch) -> Command:
    """Return the command that deletes a batch after it was applied."""
    entity = batch.entity
    return FINISH.command([batch_key(entity), taken_key(entity.tag)], [entity.name, batch.id])


def parse_batch(entity: Entity, reply: Reply) -> Batch | None:
    """Parse the fields of a buffer. Return None if the reply is empty."""
    fields: dict[bytes, bytes] = dict(zip(reply[::2], reply[1::2], strict=True))
    return Batch(entity, int(fields[b"id"]), Change.from_hash(fields)) if fields else None


class Buffers(Repository):
    """The buffers of a store. `Flusher` empties them."""

    async def add(self, changes: Mapping[Entity, Change], now_ms: int) -> None:
        """Add changes to the buffers of several entities, in one round trip per node."""
        await self._series.execute_all([add_command(entity, change, now_ms) for entity, change in changes.items()])

    async def read_unflushed(self, entities: Sequence[Entity]) -> list[list[Batch]]:
        """Return the batches of each entity that may not be in its totals. Compare their ids with the totals.

        The buffer is read before the batch, so a buffer that is taken in between is read twice, never missed.
        """
        keys = [key for entity in entities for key in (buffer_key(entity), batch_key(entity))]
        replies = await self._series.execute_all([("HGETALL", key) for key in keys])
        rows = zip(entities, replies[::2], replies[1::2], strict=True)
        return [_unique_batches(parse_batch(entity, reply) for reply in pair) for entity, *pair in rows]

    async def count_waiting(self) -> int:
        """Return the number of entities with unflushed changes."""
        keys = [key for tag in PARTITION_TAGS for key in (pending_key(tag), taken_key(tag))]
        return sum(await self._series.execute_all([("ZCARD", key) for key in keys]))


def _unique_batches(batches: Iterable[Batch | None]) -> list[Batch]:
    """Return one batch for each id, which is the last one in `batches`."""
    return list({batch.id: batch for batch in batches if batch is not None}.values())


# Flushing


ApplyBatches = Callable[[Sequence[Batch]], Awaitable[list[Batch]]]
"""Applies each batch once, even if it is called again, and returns the batches that are applied."""


@dataclass(slots=True)
class FlushResult:
    """The applied batches, the remaining batches, and the first error of a node."""

    applied: int = 0
    remaining: int = 0
    error: StoreError | None = None


class Flusher:
    """Moves buffers to their totals: it takes the oldest buffers, applies them and deletes them.

    Any number of flushers may run at the same time. If a flusher dies between two steps, the batch remains and
    another flusher takes it after its lease; applying it again changes nothing.
    """

    def __init__(self, store: Store, apply: ApplyBatches, *, entities_per_round: int = ENTITIES_PER_ROUND) -> None:
        self._store = store
        self._apply = apply
        self._entities_per_round = entities_per_round

    async def flush(self, now_ms: int, *, limit: int = MAX_BATCHES_PER_FLUSH) -> FlushResult:
        """Flush about `limit` buffers, oldest first. An error of one node does not delay the other nodes."""
        result = FlushResult()
        while result.applied < limit and not result.remaining and result.error is None:
            entities = await self.find_due(now_ms, result)
            batches = await self.take_batches(entities[: limit - result.applied], now_ms, result)
            applied = await self._apply(batches) if batches else []
            await self.finish_batches(applied, result)
            result.applied += len(applied)
            result.remaining += len(batches) - len(applied)
            if not batches:
                break
        return result

    # The three steps. They are public so that tests can stop between two steps.

    async def find_due(self, now_ms: int, result: FlushResult) -> list[Entity]:
        """Return entities of each partition whose changes are the oldest. Batches with an expired lease come first."""
        commands = [
            command for tag in PARTITION_TAGS for command in find_due_commands(tag, now_ms, self._entities_per_round)
        ]
        replies = await self._gather_partial(commands, result)
        names = [name for reply in replies if not isinstance(reply, StoreError) for name in reply]
        return [Entity.parse(name) for name in dict.fromkeys(names)]

    async def take_batches(self, entities: Sequence[Entity], now_ms: int, result: FlushResult) -> list[Batch]:
        """Take the batches of the entities, except batches that another flusher has taken."""
        replies = await self._gather_partial([take_command(entity, now_ms) for entity in entities], result)
        pairs = zip(entities, replies, strict=True)
        batches = (parse_batch(entity, reply) for entity, reply in pairs if not isinstance(reply, StoreError))
        return [batch for batch in batches if batch is not None]

    async def finish_batches(self, batches: Sequence[Batch], result: FlushResult) -> None:
        await self._gather_partial([finish_command(batch) for batch in batches], result)

    async def _gather_partial(self, commands: Sequence[Command], result: FlushResult) -> list[Reply | StoreError]:
        """Run the commands and record the first error in `result`."""
        replies = await gather_partial(self._store, commands)
        first_error = next((reply for reply in replies if isinstance(reply, StoreError)), None)
        result.error = result.error or first_error
        return replies


# Totals


TotalsKeyBuilder = Callable[[int], Key]
"""Returns the key of an entity's totals from the entity's id."""


class BufferTotals:
    """The totals of entities. `key_builders` maps each kind of entity to a function from id to key."""

    def __init__(self, store: Store, key_builders: Mapping[str, TotalsKeyBuilder]) -> None:
        self._store = store
        self._key_builders = dict(key_builders)
        self._buffers = Buffers(store)

    def key(self, entity: Entity) -> Key:
        return self._key_builders[entity.kind](entity.id)

    async def apply(self, batches: Sequence[Batch]) -> list[Batch]:
        """Add batches to the totals; return the batches that were applied now or earlier."""
        commands = [
            APPLY.command([self.key(batch.entity)], [batch.id, *batch.change.script_arguments]) for batch in batches
        ]
        replies = await gather_partial(self._store, commands)
        return [batch for batch, reply in zip(batches, replies, strict=True) if not isinstance(reply, StoreError)]

    async def delete(self, entity: Entity) -> None:
        """Delete the totals of a deleted entity. Changes that are added later create them again."""
        key = self.key(entity)
        await self._store.node(key).execute("DEL", key)

    async def read(self, entities: Sequence[Entity]) -> list[Change]:
        """Return the totals plus the unflushed changes. Each count is included once, even during a flush.

        The buffers are read before the totals, so a batch that is applied in between is recognised by its id.
        This takes two round trips.
        """
        unflushed = await self._buffers.read_unflushed(entities)
        replies = await self._store.execute_all([("HGETALL", self.key(entity)) for entity in entities])
        return [_add_unflushed(reply, batches) for reply, batches in zip(replies, unflushed, strict=True)]


def _add_unflushed(reply: Reply, unflushed: Sequence[Batch]) -> Change:
    fields: dict[bytes, bytes] = dict(zip(reply[::2], reply[1::2], strict=True))
    total, applied_id = Change.from_hash(fields), int(fields.get(b"batch", 0))
    for batch in unflushed:
        if batch.id > applied_id:
            total.merge(batch.change)
    return total
