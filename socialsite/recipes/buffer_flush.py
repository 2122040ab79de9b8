"""The tick that empties buffers: takes the oldest ones, has them applied, forgets them.

Any number may run at once, and die anywhere: between take and apply, or apply and forget, the batch stays and
is handed out again after its lease; applying it again changes nothing.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from socialsite.recipes.buffer import (
    PARTITION_TAGS,
    Batch,
    Entity,
    find_due_commands,
    finish_command,
    parse_batch,
    take_command,
)
from socialsite.recipes.partial import gather_partial
from socialsite.store import Store, StoreError

ApplyBatches = Callable[[Sequence[Batch]], Awaitable[list[Batch]]]
"""Applies each batch once, however often it is asked, and returns those that are applied by now."""

ENTITIES_PER_ROUND = 32  # entities a partition; a round is three round trips a node
MAX_BATCHES_PER_FLUSH = 10_000  # entities a tick


@dataclass(slots=True)
class FlushResult:
    """Batches applied, batches left for another tick, and the first trouble met."""

    applied: int = 0
    remaining: int = 0
    error: StoreError | None = None


class Flusher:
    """Moves buffers into their totals."""

    def __init__(self, store: Store, apply: ApplyBatches, *, entities_per_round: int = ENTITIES_PER_ROUND) -> None:
        self._store = store
        self._apply = apply
        self._entities_per_round = entities_per_round

    async def flush(self, now_ms: int, *, limit: int = MAX_BATCHES_PER_FLUSH) -> FlushResult:
        """Empty the oldest `at_most` buffers (about). Trouble with one node does not delay the others."""
        flushed = FlushResult()
        while flushed.applied < limit and not flushed.remaining and flushed.error is None:
            found = await self.find_due(now_ms, flushed)
            batches = await self.take_batches(found[: limit - flushed.applied], now_ms, flushed)
            applied = await self._apply(batches) if batches else []
            await self.finish_batches(applied, flushed)
            flushed.applied += len(applied)
            flushed.remaining += len(batches) - len(applied)
            if not batches:
                break
        return flushed

    # The three steps; a test stops between any two of them.

    async def find_due(self, now_ms: int, flushed: FlushResult) -> list[Entity]:
        """The oldest entities of each partition, those of dead flushers first."""
        commands = [each for tag in PARTITION_TAGS for each in find_due_commands(tag, now_ms, self._entities_per_round)]
        names = [name for reply in await self._gather_partial(commands, flushed) for name in reply]
        return [Entity.parse(name) for name in dict.fromkeys(names)]

    async def take_batches(self, entities: Sequence[Entity], now_ms: int, flushed: FlushResult) -> list[Batch]:
        """Their batches; whatever another flusher has taken is left to it."""
        commands = [take_command(entity, now_ms) for entity in entities]
        replies = await gather_partial(self._store, commands)
        _record_error(replies, flushed)
        pairs = zip(entities, replies, strict=True)
        found = (parse_batch(entity, reply) for entity, reply in pairs if not isinstance(reply, StoreError))
        return [each for each in found if each is not None]

    async def finish_batches(self, applied: Sequence[Batch], flushed: FlushResult) -> None:
        await self._gather_partial([finish_command(each) for each in applied], flushed)

    async def _gather_partial(self, commands: Sequence[tuple[object, ...]], flushed: FlushResult) -> list[list[bytes]]:
        replies = await gather_partial(self._store, commands)
        _record_error(replies, flushed)
        return [reply for reply in replies if not isinstance(reply, StoreError)]


def _record_error(replies: Sequence[object], flushed: FlushResult) -> None:
    trouble = next((reply for reply in replies if isinstance(reply, StoreError)), None)
    flushed.error = flushed.error or trouble
