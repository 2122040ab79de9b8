"""Open the store of the configured URLs, or the store to which a migration has moved its data."""

import asyncio
import contextlib

from socialsite.migration.migration_follower import MigrationFollower
from socialsite.store.errors import StoreUnavailable
from socialsite.store.factory import StoreUrls, components_of_url, create_topology
from socialsite.store.store import Store, Topology
from socialsite.store.topology.shard_map import require_no_shard
from socialsite.store.topology.standalone import Standalone
from socialsite.store.topology.twemproxy import Twemproxy


async def open_store(urls: StoreUrls | str, *, require_replicas: int = 0) -> Store:
    """Open a store on the topologies of these URLs; equal URLs share one topology.

    Raises InvalidStoreUrl, InvalidShardMap, StoreUnavailable.
    """
    if isinstance(urls, str):
        urls = StoreUrls(urls)
    topologies: dict[str, Topology] = {}
    for url in (urls.default, *urls.component_urls.values()):
        if url not in topologies:
            # This runs in a thread, because the URL of an embedded server may start that server and wait for it.
            topologies[url] = await asyncio.to_thread(create_topology, url, components_of_url(urls, url))
    # A placement map cannot be stored behind Twemproxy, so its data cannot be migrated.
    can_migrate = not isinstance(topologies[urls.default], Twemproxy)
    follower = MigrationFollower(urls.default, create_topology) if can_migrate else None
    store: Store | None = None
    try:
        if follower is not None:
            await follower.acquire_lease(list(topologies.values()))
        for topology in topologies.values():
            await topology.open()
        component_topologies = {component: topologies[url] for component, url in urls.component_urls.items()}
        store = Store(topologies[urls.default], component_topologies, require_replicas=require_replicas)
        store.topology_follower = follower
        if follower is not None:
            await follower.start_following(store, urls.component_urls)
        for topology in store.topologies:
            if isinstance(topology, Standalone):
                with contextlib.suppress(StoreUnavailable):  # an unreachable server may return later
                    await require_no_shard(topology.nodes[0])
    except BaseException:
        if follower is not None:
            await follower.close()
        # The follower may have replaced the topologies already. Closing a topology twice is allowed.
        for topology in (*topologies.values(), *(store.topologies if store is not None else ())):
            await topology.close()
        raise
    return store
