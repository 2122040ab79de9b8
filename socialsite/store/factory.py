"""From URLs to a store. A URL that cannot be used is refused here, in one sentence that says what to do."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from socialsite.store.address import Address
from socialsite.store.errors import StoreError
from socialsite.store.partition import KINDS
from socialsite.store.store import Topology
from socialsite.store.topology.addresses import ManyUrl, places_of, require_known, shown, taken_out
from socialsite.store.topology.cluster import Cluster
from socialsite.store.topology.sentinel import Sentinel
from socialsite.store.topology.shards import Shards
from socialsite.store.topology.standalone import Single
from socialsite.store.topology.twemproxy import Proxy

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


def components_at(urls: StoreUrls, url: str) -> frozenset[str]:
    """The components whose place is `url`."""
    return frozenset(name for name in COMPONENTS if urls.placed.get(name, urls.default) == url)


def topology_of(url: str, components: Collection[str] = COMPONENTS) -> Topology:
    """The topology a URL names, for these components."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise BadUrl(
            f"{url!r} is not a Redis URL: write redis://host:port or unix:///path or embedded://directory"
        )
    if scheme == "embedded":
        from socialsite.store.embedded import EmbeddedServer

        if not rest:
            raise BadUrl(f"{url!r} names no place: say which directory, embedded://directory")
        return Single(EmbeddedServer.running(Path(rest)).url)
    if scheme in ("redis", "rediss", "unix"):
        try:
            return _single(url)
        except ValueError as error:
            raise BadUrl(f"{shown(url)!r} is not a Redis URL: {error}") from error
    if scheme in MANY:
        try:
            return MANY[scheme](url, components)
        except ValueError as error:
            raise BadUrl(f"{shown(url)!r} is not a {scheme} URL: {error}") from error
    schemes = ("redis", "rediss", "unix", "embedded", *MANY)
    raise BadUrl(f"no topology is called {scheme!r}: use {', '.join(f'{each}://' for each in schemes)}")


def _single(url: str) -> Topology:
    """`redis://user:password@host:port/0?replica=host:port&replica=host:port`; the login holds for all."""
    require_known(url, "db", "replica")
    own, replicas = taken_out(url, "replica")
    master = Address.parse(own)
    return Single(
        own, [master.elsewhere(place) for place in places_of(",".join(replicas))] if replicas else ()
    )


def _cluster(url: str, components: Collection[str]) -> Topology:
    """`redis+cluster://user:password@h:p,h:p?replicas=1`"""
    parts = ManyUrl.parse(url, "replicas")
    wanted = parts.query.get("replicas", "0")
    if wanted not in ("0", "1"):
        raise ValueError("replicas=1 reads from replicas, replicas=0 does not")
    if parts.path not in ("", "0"):
        raise ValueError("a cluster has no numbered databases: take the number out")
    if parts.places[0].startswith("/"):
        raise ValueError("a cluster is named by host:port, as its members name each other")
    return Cluster([parts.address(place) for place in parts.places], reads_replicas=wanted == "1")


def _shards(url: str, components: Collection[str]) -> Topology:
    """`redis+shards://h:p,h:p?partitioner=hash|ring|range|list`"""
    parts = ManyUrl.parse(url, "partitioner", "db")
    kind = parts.query.get("partitioner")
    if kind is not None and kind not in KINDS:
        raise ValueError(f"there is no partitioner {kind!r}: use {', '.join(KINDS)}")
    db = parts.query.get("db", parts.path) or "0"
    return Shards([parts.address(place, db=db) for place in parts.places], kind, components)


def _sentinel(url: str, components: Collection[str]) -> Topology:
    """`redis+sentinel://user:password@h:p,h:p/<master>?db=0&sentinel_password=...`"""
    parts = ManyUrl.parse(url, "db", "sentinel_username", "sentinel_password")
    if not parts.path or "/" in parts.path:
        raise ValueError("the name of the master belongs behind the last Sentinel: .../<master>")
    words = [quote(parts.query.get(f"sentinel_{word}", ""), safe="") for word in ("username", "password")]
    credentials = ":".join(words) if any(words) else ""
    sentinels = [parts.address(place, credentials=credentials) for place in parts.places]
    return Sentinel(sentinels, parts.path, parts.address(parts.places[0], db=parts.query.get("db", "0")))


def _twemproxy(url: str, components: Collection[str]) -> Topology:
    """`redis+twemproxy://h:p?nodes=h:p,h:p`"""
    parts = ManyUrl.parse(url, "nodes")
    if len(parts.places) > 1:
        raise ValueError("one proxy only; several stand behind a balancer of their own")
    if "nodes" not in parts.query:
        raise ValueError("say which servers stand behind it: ?nodes=h:p,h:p")
    if parts.path not in ("", "0"):
        raise ValueError("Twemproxy knows no numbered databases: take the number out")
    servers = [parts.address(place) for place in places_of(parts.query["nodes"])]
    return Proxy(parts.address(parts.places[0]), servers)


MANY: dict[str, Callable[[str, Collection[str]], Topology]] = {
    "redis+cluster": _cluster,
    "redis+shards": _shards,
    "redis+sentinel": _sentinel,
    "redis+twemproxy": _twemproxy,
}
