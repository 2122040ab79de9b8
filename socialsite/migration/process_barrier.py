"""Wait until every process of the site follows an epoch of the map, and disconnect processes that do not."""

import asyncio
from collections.abc import Callable

from socialsite.migration.connection_gate import client_name
from socialsite.migration.errors import ProcessesNotFollowing
from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.migration.store_pool import StorePool

POLL_INTERVAL_S = 0.002


class ProcessBarrier:
    """Waits for the processes with a lease in a registry. `on_disconnect` is called after a disconnection."""

    def __init__(
        self, registry: PlacementRegistry, stores: StorePool, on_disconnect: Callable[[], None] = lambda: None
    ) -> None:
        self._registry = registry
        self._stores = stores
        self._on_disconnect = on_disconnect

    async def wait_for_epoch(self, epoch: int, timeout_s: float) -> None:
        """Return when every process follows the epoch. Raises ProcessesNotFollowing."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while True:
            waiting, expired = await self._registry.not_following(epoch)
            if expired:
                await self._disconnect(expired)
            elif not waiting:
                return
            elif loop.time() > deadline:
                raise ProcessesNotFollowing(waiting)
            else:
                await asyncio.sleep(POLL_INTERVAL_S)

    async def _disconnect(self, processes: list[str]) -> None:
        """Kill the connections of processes that died or are paused, then remove the processes."""
        await self._stores.kill_clients_of([client_name(process) for process in processes])
        self._on_disconnect()
        await self._registry.remove_processes(*processes)
