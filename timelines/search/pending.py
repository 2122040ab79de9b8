"""Posts that are not in the search index yet, because its servers were unavailable.

They are not in the outbox, so that an outage of search does not block the workers.
"""

from collections.abc import Iterable

from socialsite.ids import PostId
from socialsite.store import Store
from timelines import keys

PENDING_CAP = 100_000
"""The newest posts are kept, about 10 MB. `rebuild_timelines --search` adds the others."""


class PendingSearchPosts:
    """`jobs:{search}:owed`."""

    def __init__(self, store: Store) -> None:
        self._component = store.component("jobs")
        self._key = keys.search_pending()

    async def add(self, post_id: PostId) -> None:
        trim = ("ZREMRANGEBYRANK", self._key, 0, -PENDING_CAP - 1)
        await self._component.write(self._key, ("ZADD", self._key, post_id, post_id), trim)

    async def find_oldest(self, limit: int) -> list[PostId]:
        reply = await self._component[self._key].execute("ZRANGE", self._key, 0, limit - 1)
        return [PostId(int(member)) for member in reply]

    async def remove(self, post_ids: Iterable[PostId]) -> None:
        if ids := list(post_ids):
            await self._component[self._key].execute("ZREM", self._key, *ids)
