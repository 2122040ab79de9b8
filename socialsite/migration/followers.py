"""Waiting until every process of the site follows a state of the map; whoever stands still is cut off."""

import asyncio
from collections.abc import Callable

from socialsite.migration.errors import SlowFollowers
from socialsite.migration.fencing import name_of
from socialsite.migration.placement_registry import Board
from socialsite.migration.store_pool import Places

POLL_S = 0.002


class Followers:
    """Those with a lease on a board. `on_cut` hears that one had to be given up."""

    def __init__(self, board: Board, places: Places, on_cut: Callable[[], None] = lambda: None) -> None:
        self._board = board
        self._places = places
        self._on_cut = on_cut

    async def follow(self, epoch: int, within_s: float) -> None:
        """Returns when every process follows the epoch. Raises SlowFollowers."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        while True:
            waiting, lapsed = await self._board.laggards(epoch)
            if lapsed:
                await self._cut(lapsed)
            elif not waiting:
                return
            elif loop.time() > until:
                raise SlowFollowers(waiting)
            else:
                await asyncio.sleep(POLL_S)

    async def _cut(self, processes: list[str]) -> None:
        """Processes that died, or stand still: what they have open is cut, so that they may be forgotten."""
        await self._places.cut([name_of(process) for process in processes])
        self._on_cut()
        await self._board.leave(*processes)
