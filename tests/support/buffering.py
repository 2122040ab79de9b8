"""Views of posts, buffered and flushed to totals, as tests add and read them."""

from socialsite.recipes.buffer import Change, Entity
from socialsite.recipes.buffer_totals import Totals
from socialsite.store import Key, Store

NOW = 1_763_650_440_000
POST = Entity("post", 7)


def totals_key(id: int) -> Key:
    return Key("posts", tag=str(id), name="totals")


def views(amount: int = 1) -> Change:
    return Change({"views": amount})


async def read(totals: Totals, entity: Entity = POST) -> int:
    (change,) = await totals.read([entity])
    return change.counts.get("views", 0)


async def stored(store: Store, entity: Entity = POST) -> int:
    key = totals_key(entity.id)
    return int(await store.node(key).execute("HGET", key, "+views") or 0)
