"""From URLs to a store. A URL that cannot be used is refused here, in one sentence that says what to do."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from socialsite.store.connection import Address
from socialsite.store.errors import StoreError
from socialsite.store.store import Store, Topology
from socialsite.store.topology.cluster import Cluster
from socialsite.store.topology.single import Single

COMPONENTS = (
    "accounts", "sessions", "posts", "timelines", "public", "follows", "limits", "jobs", "live", "series",
    "search",
)  # fmt: skip


class BadUrl(StoreError):
    """The URL names no topology, or not fully."""


@dataclass(frozen=True, slots=True)
class StoreUrls:
    """`REDIS_URL` and the `REDIS_<COMPONENT>_URL`s (component -> URL)."""

    default: str
    placed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for component in self.placed:
            if component not in COMPONENTS:
                raise BadUrl(
                    f"there is no component {component!r}; the components are {', '.join(COMPONENTS)}"
                )


async def open_store(urls: StoreUrls | str, *, require_replicas: int = 0) -> Store:
    """A store on the named topologies; equal URLs share their nodes. Raises BadUrl, StoreUnavailable."""
    if isinstance(urls, str):
        urls = StoreUrls(urls)
    topologies: dict[str, Topology] = {}
    for url in (urls.default, *urls.placed.values()):
        if url not in topologies:
            # An embedded server may have to be started first, which waits for it.
            topologies[url] = await asyncio.to_thread(topology_of, url)
    try:
        for topology in topologies.values():
            await topology.open()
    except BaseException:
        for topology in topologies.values():
            await topology.close()
        raise
    placed = {component: topologies[url] for component, url in urls.placed.items()}
    return Store(topologies[urls.default], placed, require_replicas=require_replicas)


def topology_of(url: str) -> Topology:
    """The topology a URL names."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise BadUrl(
            f"{url!r} is not a Redis URL: write redis://host:port or unix:///path or embedded://directory"
        )
    if scheme == "embedded":
        from socialsite.store.embedded import EmbeddedServer

        return Single(EmbeddedServer.running(Path(rest)).url)
    if scheme in ("redis", "rediss", "unix"):
        try:
            return Single(url)
        except ValueError as error:
            raise BadUrl(f"{url!r} is not a Redis URL: {error}") from error
    if scheme == "redis+cluster":
        return Cluster(addresses_of(url, rest))
    raise BadUrl(
        f"no topology is called {scheme!r}: use redis://, rediss://, unix://, embedded:// or redis+cluster://"
    )


def addresses_of(url: str, rest: str) -> list[Address]:
    """The servers of `[user:password@]host:port,host:port,…`, all let in by the same credentials."""
    places, _, options = rest.partition("?")
    credentials, at, hosts = places.rpartition("@")
    tail = f"?{options}" if options else ""
    try:
        return [Address.parse(f"redis://{credentials}{at}{host}{tail}") for host in hosts.split(",") if host]
    except ValueError as error:
        raise BadUrl(f"{url!r} names no servers: {error}") from error
