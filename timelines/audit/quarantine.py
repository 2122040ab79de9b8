"""Values set aside: what stood at a key of another type, kept for a while for somebody to look at."""

from socialsite.maintenance.families import QUARANTINE_DAYS, quarantine_key
from socialsite.store.commands import load_script
from socialsite.store.key import Key
from socialsite.store.store import Store

SET_ASIDE = load_script("set_aside.lua", __package__)
DAY_MS = 86_400_000


class Aside:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def put(self, key: Key, right_type: str) -> bool:
        """False where the key is gone, or of its type by now."""
        done = await self._store.node(key).run(
            SET_ASIDE, (key, quarantine_key(key)), (right_type, QUARANTINE_DAYS * DAY_MS)
        )
        return bool(done)
