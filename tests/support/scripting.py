"""Run scripts and commands on the node of their first key."""

from socialsite.store import Key, Reply, Script, Store
from socialsite.store.commands import routing_key


async def run_script(store: Store, script: Script, place: list[Key], *args: object) -> Reply:
    return await store.node(place[0]).execute(*script.command(place, args))


async def run_command(store: Store, *command: object) -> Reply:
    return await store.node(routing_key(command)).execute(*command)
