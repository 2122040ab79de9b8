"""Add buffered views of posts and read their totals."""

from socialsite.recipes.buffer import BufferTotals, Change, Entity
from socialsite.store import Key, Store

NOW_MS = 1_763_650_440_000
POST_ENTITY = Entity("post", 7)


def totals_key(id: int) -> Key:
    return Key("posts", tag=str(id), name="totals")


def views(amount: int = 1) -> Change:
    return Change({"views": amount})


async def read_total(totals: BufferTotals, entity: Entity = POST_ENTITY) -> int:
    (change,) = await totals.read([entity])
    return change.counts.get("views", 0)


async def read_stored_total(store: Store, entity: Entity = POST_ENTITY) -> int:
    key = totals_key(entity.id)
    return int(await store.node(key).execute("HGET", key, "+views") or 0)
