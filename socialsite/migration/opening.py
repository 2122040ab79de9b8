"""Open the store that the URLs name, at the place where a migration has put its data."""

import asyncio

from socialsite.migration.migration_follower import MigrationFollower
from socialsite.store.factory import StoreUrls, components_of_url, create_topology
from socialsite.store.store import Store, Topology
from socialsite.store.topology.twemproxy import Twemproxy


async def open_store(urls: StoreUrls | str, *, require_replicas: int = 0) -> Store:
    """A store on the named topologies; equal URLs share their nodes. Raises InvalidStoreUrl, StoreUnavailable."""
    if isinstance(urls, str):
        urls = StoreUrls(urls)
    topologies: dict[str, Topology] = {}
    for url in (urls.default, *urls.component_urls.values()):
        if url not in topologies:
            # An embedded server may have to be started first, which waits for it.
            topologies[url] = await asyncio.to_thread(create_topology, url, components_of_url(urls, url))
    # A proxy carries no map: what stands behind one cannot be moved while it serves.
    movable = not isinstance(topologies[urls.default], Twemproxy)
    keeper = MigrationFollower(urls.default, create_topology) if movable else None
    store: Store | None = None
    try:
        if keeper is not None:
            await keeper.acquire_lease(list(topologies.values()))
        for topology in topologies.values():
            await topology.open()
        placed = {component: topologies[url] for component, url in urls.component_urls.items()}
        store = Store(topologies[urls.default], placed, require_replicas=require_replicas)
        store.topology_follower = keeper
        if keeper is not None:
            await keeper.start_following(store, urls.component_urls)
    except BaseException:
        if keeper is not None:
            await keeper.close()
        # The map may have put others in their place already; to close one twice does nothing.
        for topology in (*topologies.values(), *(store.topologies if store is not None else ())):
            await topology.close()
        raise
    return store
