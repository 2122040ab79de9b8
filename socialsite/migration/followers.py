"""Waiting until every process of the site follows a state of the map; whoever stands still is cut off."""

import asyncio
from collections.abc import Callable

from socialsite.migration.errors import ProcessesNotFollowing
from socialsite.migration.fencing import client_name
from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.migration.store_pool import StorePool

POLL_INTERVAL_S = 0.002


class ProcessBarrier:
    """Those with a lease on a board. `on_cut` hears that one had to be given up."""

    def __init__(self, board: PlacementRegistry, places: StorePool, on_cut: Callable[[], None] = lambda: None) -> None:
        self._registry = board
        self._stores = places
        self._on_disconnect = on_cut

    async def wait_for_epoch(self, epoch: int, within_s: float) -> None:
        """Returns when every process follows the epoch. Raises ProcessesNotFollowing."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        while True:
            waiting, lapsed = await self._registry.not_following(epoch)
            if lapsed:
                await self._disconnect(lapsed)
            elif not waiting:
                return
            elif loop.time() > until:
                raise ProcessesNotFollowing(waiting)
            else:
                await asyncio.sleep(POLL_INTERVAL_S)

    async def _disconnect(self, processes: list[str]) -> None:
        """Processes that died, or stand still: what they have open is cut, so that they may be forgotten."""
        await self._stores.kill_clients_of([client_name(process) for process in processes])
        self._on_disconnect()
        await self._registry.remove_processes(*processes)
