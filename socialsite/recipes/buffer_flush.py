"""The tick that empties buffers: takes the oldest ones, has them applied, forgets them.

Any number may run at once, and die anywhere: between take and apply, or apply and forget, the batch stays and
is handed out again after its lease; applying it again changes nothing.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from socialsite.recipes.buffer import (
    TAGS,
    Batch,
    Entity,
    batch_of,
    done_command,
    due_commands,
    take_command,
)
from socialsite.recipes.partial import gather_apart
from socialsite.store import Store, StoreError

Apply = Callable[[Sequence[Batch]], Awaitable[list[Batch]]]
"""Applies each batch once, however often it is asked, and returns those that are applied by now."""

EACH_ROUND = 32  # entities a partition; a round is three round trips a node
AT_MOST = 10_000  # entities a tick


@dataclass(slots=True)
class Flushed:
    """Batches applied, batches left for another tick, and the first trouble met."""

    applied: int = 0
    left: int = 0
    trouble: StoreError | None = None


class Flusher:
    """Moves buffers into their totals."""

    def __init__(self, store: Store, apply: Apply, *, each_round: int = EACH_ROUND) -> None:
        self._store = store
        self._apply = apply
        self._each_round = each_round

    async def flush(self, now_ms: int, *, at_most: int = AT_MOST) -> Flushed:
        """Empty the oldest `at_most` buffers (about). Trouble with one node does not delay the others."""
        flushed = Flushed()
        while flushed.applied < at_most and not flushed.left and flushed.trouble is None:
            found = await self.due(now_ms, flushed)
            batches = await self.take(found[: at_most - flushed.applied], now_ms, flushed)
            applied = await self._apply(batches) if batches else []
            await self.forget(applied, flushed)
            flushed.applied += len(applied)
            flushed.left += len(batches) - len(applied)
            if not batches:
                break
        return flushed

    # The three steps; a test stops between any two of them.

    async def due(self, now_ms: int, flushed: Flushed) -> list[Entity]:
        """The oldest entities of each partition, those of dead flushers first."""
        commands = [each for tag in TAGS for each in due_commands(tag, now_ms, self._each_round)]
        names = [name for reply in await self._apart(commands, flushed) for name in reply]
        return [Entity.parse(name) for name in dict.fromkeys(names)]

    async def take(self, entities: Sequence[Entity], now_ms: int, flushed: Flushed) -> list[Batch]:
        """Their batches; whatever another flusher has taken is left to it."""
        commands = [take_command(entity, now_ms) for entity in entities]
        replies = await gather_apart(self._store, commands)
        _note(replies, flushed)
        pairs = zip(entities, replies, strict=True)
        found = (batch_of(entity, reply) for entity, reply in pairs if not isinstance(reply, StoreError))
        return [each for each in found if each is not None]

    async def forget(self, applied: Sequence[Batch], flushed: Flushed) -> None:
        await self._apart([done_command(each) for each in applied], flushed)

    async def _apart(self, commands: Sequence[tuple[object, ...]], flushed: Flushed) -> list[list[bytes]]:
        replies = await gather_apart(self._store, commands)
        _note(replies, flushed)
        return [reply for reply in replies if not isinstance(reply, StoreError)]


def _note(replies: Sequence[object], flushed: Flushed) -> None:
    trouble = next((reply for reply in replies if isinstance(reply, StoreError)), None)
    flushed.trouble = flushed.trouble or trouble
