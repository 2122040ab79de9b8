"""Totals in the store: where flushed batches are added up, each exactly once.

    <where the entity lives>:totals   HASH  batch: id of the last one, +views: 120, =seen: "<ms> <value>"

The id is kept beside the totals and changes in the same script, so a batch that comes again changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence

from socialsite.recipes.buffer import Batch, Buffers, Change, Entity, parse_change
from socialsite.recipes.partial import gather_partial
from socialsite.store import Key, Reply, Store, StoreError, load_script

APPLY_BATCH = load_script("buffer_apply.lua", __package__)

TotalsKeyBuilder = Callable[[int], Key]


class BufferTotals:
    """Totals by kind of entity: `places` says where those of an id live."""

    def __init__(self, store: Store, places: Mapping[str, TotalsKeyBuilder]) -> None:
        self._store = store
        self._key_builders = dict(places)
        self._buffers = Buffers(store)

    def key(self, entity: Entity) -> Key:
        return self._key_builders[entity.kind](entity.id)

    async def apply(self, batches: Sequence[Batch]) -> list[Batch]:
        """Add batches; those that are certainly added by now, here or before."""
        commands = [
            APPLY_BATCH.command([self.key(each.entity)], [each.id, *each.change.script_arguments]) for each in batches
        ]
        replies = await gather_partial(self._store, commands)
        pairs = zip(batches, replies, strict=True)
        return [each for each, reply in pairs if not isinstance(reply, StoreError)]

    async def delete(self, entity: Entity) -> None:
        """The entity is gone. What is counted of it from now on would come back with a flush."""
        key = self.key(entity)
        await self._store.node(key).execute("DEL", key)

    async def read(self, entities: Sequence[Entity]) -> list[Change]:
        """Totals with what is not flushed yet: each count exactly once, whatever a flusher does meanwhile.

        First what is unflushed, then the totals: a batch applied in between is known by its id. Hence two
        round trips.
        """
        unflushed = await self._buffers.read_unflushed(entities)
        replies = await self._store.gather([("HGETALL", self.key(entity)) for entity in entities])
        return [_add_unflushed(*pair) for pair in zip(replies, unflushed, strict=True)]


def _add_unflushed(reply: Reply, unflushed: Sequence[Batch]) -> Change:
    found: dict[bytes, bytes] = dict(zip(reply[::2], reply[1::2], strict=True))
    total, applied = parse_change(found), int(found.get(b"batch", 0))
    for batch in unflushed:
        if batch.id > applied:
            total.merge(batch.change)
    return total
