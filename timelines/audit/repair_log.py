"""What the background audit found: how often each kind of damage, since the store was made."""

from collections.abc import Mapping

from socialsite.store import Store
from timelines import keys


class AuditDrift:
    """`jobs:{audit}:drift`. Counts only; what and where stands in the workers' logs."""

    def __init__(self, store: Store) -> None:
        self._jobs = store.component("jobs")

    async def note(self, found: Mapping[str, int]) -> None:
        key = keys.repair_log()
        await self._jobs[key].pipeline([("HINCRBY", key, kind, count) for kind, count in found.items()])

    async def counts(self) -> dict[str, int]:
        """As many fields as the audit knows kinds."""
        reply = await self._jobs[keys.repair_log()].execute("HGETALL", keys.repair_log())
        return {kind.decode(): int(count) for kind, count in zip(reply[::2], reply[1::2], strict=True)}
