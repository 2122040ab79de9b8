"""Scripts and commands by themselves, on the node of their first key."""

from socialsite.store import Key, Reply, Script, Store
from socialsite.store.scripts import key_of


async def run(store: Store, script: Script, place: list[Key], *args: object) -> Reply:
    return await store.node(place[0]).run(script, place, args)


async def ask(store: Store, *command: object) -> Reply:
    return await store.node(key_of(command)).execute(*command)
