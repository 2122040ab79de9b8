"""Open the store that the URLs name, at the place where a migration has put its data."""

import asyncio

from socialsite.migration.migration_follower import Keeper
from socialsite.store.factory import StoreUrls, components_at, topology_of
from socialsite.store.store import Store, Topology
from socialsite.store.topology.twemproxy import Proxy


async def open_store(urls: StoreUrls | str, *, require_replicas: int = 0) -> Store:
    """A store on the named topologies; equal URLs share their nodes. Raises BadUrl, StoreUnavailable."""
    if isinstance(urls, str):
        urls = StoreUrls(urls)
    topologies: dict[str, Topology] = {}
    for url in (urls.default, *urls.placed.values()):
        if url not in topologies:
            # An embedded server may have to be started first, which waits for it.
            topologies[url] = await asyncio.to_thread(topology_of, url, components_at(urls, url))
    # A proxy carries no map: what stands behind one cannot be moved while it serves.
    movable = not isinstance(topologies[urls.default], Proxy)
    keeper = Keeper(urls.default, topology_of) if movable else None
    store: Store | None = None
    try:
        if keeper is not None:
            await keeper.take(list(topologies.values()))
        for topology in topologies.values():
            await topology.open()
        placed = {component: topologies[url] for component, url in urls.placed.items()}
        store = Store(topologies[urls.default], placed, require_replicas=require_replicas)
        store.keeper = keeper
        if keeper is not None:
            await keeper.keep(store, urls.placed)
    except BaseException:
        if keeper is not None:
            await keeper.close()
        # The map may have put others in their place already; to close one twice does nothing.
        for topology in (*topologies.values(), *(store.topologies if store is not None else ())):
            await topology.close()
        raise
    return store
