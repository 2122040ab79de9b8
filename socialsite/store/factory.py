"""Create topologies from URLs. The error for an invalid URL is one sentence with the remedy."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from socialsite.store import address
from socialsite.store.components import COMPONENTS
from socialsite.store.embedded.server import EmbeddedServer
from socialsite.store.errors import StoreError
from socialsite.store.partitioners import PARTITIONERS
from socialsite.store.store import Topology
from socialsite.store.topology.cluster import Cluster
from socialsite.store.topology.sentinel import Sentinel
from socialsite.store.topology.shards import Shards
from socialsite.store.topology.standalone import Standalone
from socialsite.store.topology.twemproxy import Twemproxy


class InvalidStoreUrl(StoreError):
    """The URL does not describe a topology."""


@dataclass(frozen=True, slots=True)
class StoreUrls:
    """The settings `REDIS_URL` and `REDIS_<COMPONENT>_URL` (component -> URL)."""

    default: str
    component_urls: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for component in self.component_urls:
            if component not in COMPONENTS:
                raise InvalidStoreUrl(
                    f"there is no component {component!r}; the components are {', '.join(COMPONENTS)}"
                )


def components_of_url(urls: StoreUrls, url: str) -> frozenset[str]:
    return frozenset(name for name in COMPONENTS if urls.component_urls.get(name, urls.default) == url)


def create_topology(url: str, components: Collection[str] = COMPONENTS) -> Topology:
    """Return the topology of a URL, for these components. Raises InvalidStoreUrl."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise InvalidStoreUrl(
            "this is not a Redis URL: write redis://host:port or unix:///path or embedded://directory"
        )  # without the URL, which may begin with a password
    if scheme == "embedded":
        if not rest:
            raise InvalidStoreUrl(f"{url!r} names no place: say which directory, embedded://directory")
        return Standalone(EmbeddedServer.ensure_running(Path(rest)).url)
    if scheme in ("redis", "rediss", "unix"):
        try:
            return _create_standalone(url)
        except ValueError as error:
            raise InvalidStoreUrl(f"{address.redact_credentials(url)!r} is not a Redis URL: {error}") from error
    if scheme in MULTI_SERVER_FACTORIES:
        try:
            return MULTI_SERVER_FACTORIES[scheme](url, components)
        except ValueError as error:
            raise InvalidStoreUrl(f"{address.redact_credentials(url)!r} is not a {scheme} URL: {error}") from error
    if scheme == "rediss+twemproxy":
        raise InvalidStoreUrl("Twemproxy has no TLS: place it on the machine of the site, or use another topology")
    schemes = ("redis", "rediss", "unix", "embedded", *MULTI_SERVER_FACTORIES)
    raise InvalidStoreUrl(f"no topology is called {scheme!r}: use {', '.join(f'{name}://' for name in schemes)}")


def _create_standalone(url: str) -> Topology:
    """Parse `redis://user:password@h:p/0?replica=h:p&replica=h:p`. The credentials apply to all servers."""
    address.reject_unknown_parameters(
        url, "db", "replica", *(address.TLS_PARAMETERS if url.startswith("rediss:") else ())
    )
    master_url, replicas = address.pop_parameter(url, "replica")
    master = address.Address.parse(master_url)
    locations = address.split_servers(",".join(replicas)) if replicas else ()
    return Standalone(master_url, [master.with_location(location) for location in locations])


def _create_cluster(url: str, components: Collection[str]) -> Topology:
    """Parse `redis+cluster://user:password@h:p,h:p?replicas=1`."""
    parts = address.MultiServerUrl.parse(url, "replicas")
    replicas = parts.query.get("replicas", "0")
    if replicas not in ("0", "1"):
        raise ValueError("replicas=1 reads from replicas, replicas=0 does not")
    if parts.path not in ("", "0"):
        raise ValueError("a cluster has no numbered databases: take the number out")
    if parts.servers[0].startswith("/"):
        raise ValueError("a cluster is named by host:port, as its members name each other")
    return Cluster([parts.address(server) for server in parts.servers], use_replicas=replicas == "1")


def _create_shards(url: str, components: Collection[str]) -> Topology:
    """Parse `redis+shards://h:p,h:p?partitioner=hash|ring|range|list`."""
    parts = address.MultiServerUrl.parse(url, "partitioner", "db")
    kind = parts.query.get("partitioner")
    if kind is not None and kind not in PARTITIONERS:
        raise ValueError(f"there is no partitioner {kind!r}: use {', '.join(PARTITIONERS)}")
    db = parts.query.get("db", parts.path) or "0"
    return Shards([parts.address(server, db=db) for server in parts.servers], kind, components)


def _create_sentinel(url: str, components: Collection[str]) -> Topology:
    parts = address.SentinelUrl.parse(url)
    return Sentinel(parts.sentinels, parts.master_name, parts.login)


def _create_twemproxy(url: str, components: Collection[str]) -> Topology:
    """Parse `redis+twemproxy://h:p?nodes=h:p,h:p`."""
    parts = address.MultiServerUrl.parse(url, "nodes")
    if len(parts.servers) > 1:
        raise ValueError("name one proxy: several proxies need a load balancer in front of them")
    if "nodes" not in parts.query:
        raise ValueError("name the servers behind it: ?nodes=h:p,h:p")
    if parts.path not in ("", "0"):
        raise ValueError("Twemproxy has no numbered databases: remove the number")
    servers = [parts.address(server) for server in address.split_servers(parts.query["nodes"])]
    return Twemproxy(parts.address(parts.servers[0]), servers)


MULTI_SERVER_FACTORIES: dict[str, Callable[[str, Collection[str]], Topology]] = {
    "redis+cluster": _create_cluster,
    "redis+shards": _create_shards,
    "redis+sentinel": _create_sentinel,
    "redis+twemproxy": _create_twemproxy,
    "rediss+cluster": _create_cluster,
    "rediss+shards": _create_shards,
    "rediss+sentinel": _create_sentinel,
}
