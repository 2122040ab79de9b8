"""The lock of the migrator: only one migrator may change the map of a registry."""

import asyncio

from socialsite.migration.errors import MigrationRefused, MigratorReplaced
from socialsite.migration.placement_registry import LOCK_MS, PlacementRegistry

LOCK_POLL_INTERVAL_S = 0.1
LOCK_RENEWAL_INTERVAL_S = LOCK_MS / 1000 / 4
LOCK_VALID_S = LOCK_MS / 1000 - 0.5
"""The validity of the lock in this process. It is shorter than on the server, so that it expires here first."""


class MigrationLock:
    """The migrator's lock in one registry, renewed until `release`."""

    def __init__(self, registry: PlacementRegistry, token: str) -> None:
        self._registry = registry
        self.token = token
        self._valid_until = float("-inf")
        self._renew_task: asyncio.Task[None] | None = None

    async def acquire(self) -> None:
        """Acquire the lock, or wait until an old lock expires. Raises MigrationRefused if another process holds it."""
        ttl_ms = 0
        while True:
            sent_at = asyncio.get_running_loop().time()
            if await self._registry.acquire_lock(self.token):
                break
            previous_ttl_ms, ttl_ms = ttl_ms, await self._registry.lock_ttl_ms()
            if previous_ttl_ms and ttl_ms > previous_ttl_ms:
                raise MigrationRefused("another repartition is running: wait for its end, or stop it first")
            await asyncio.sleep(LOCK_POLL_INTERVAL_S)
        self._valid_until = sent_at + LOCK_VALID_S
        self._renew_task = asyncio.create_task(self._renew_forever())

    async def require_held(self) -> None:
        """Raise MigratorReplaced if the lock may have expired."""
        if asyncio.get_running_loop().time() >= self._valid_until:
            raise MigratorReplaced

    async def release(self) -> None:
        if self._renew_task is not None:
            self._renew_task.cancel()
            await asyncio.gather(self._renew_task, return_exceptions=True)
            await self._registry.release_lock(self.token)

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(LOCK_RENEWAL_INTERVAL_S)
            sent_at = asyncio.get_running_loop().time()
            if not await self._registry.acquire_lock(self.token):
                self._valid_until = float("-inf")
                return
            self._valid_until = sent_at + LOCK_VALID_S
