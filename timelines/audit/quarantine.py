"""Values set aside: what stood at a key of another type, kept for a while for somebody to look at."""

from socialsite.maintenance.families import ASIDE_DAYS, aside
from socialsite.store.key import Key
from socialsite.store.scripts import load
from socialsite.store.store import Store

SET_ASIDE = load("set_aside.lua", __package__)
DAY_MS = 86_400_000


class Aside:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def put(self, key: Key, right_type: str) -> bool:
        """False where the key is gone, or of its type by now."""
        done = await self._store.node(key).run(
            SET_ASIDE, (key, aside(key)), (right_type, ASIDE_DAYS * DAY_MS)
        )
        return bool(done)
