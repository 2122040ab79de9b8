"""Start every topology on loopback and unix sockets by one call: `pytest --topology=NAME` uses it.

Each starts within a few seconds, is emptied between tests and is stopped by the pids that it started. Components that a
topology does not support (jobs behind Twemproxy) use a plain server, as in production.
"""

import contextlib
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import redis

from socialsite.store import StoreError, StoreFull, StoreUnavailable, StoreUrls
from socialsite.store.embedded.server import EmbeddedServer
from tests.support.cluster import RedisCluster
from tests.support.redis_server import RedisServer
from tests.support.twemproxy import running_twemproxy

SHARDS = 4
NOT_BEHIND_TWEMPROXY = ("jobs", "live", "sessions")
SHARD_MAP_KEY = b"map:"


class Deployment:
    """A running topology. `masters()` returns clients of the servers with the data."""

    def __init__(
        self, urls: StoreUrls, masters: Callable[[], Sequence[redis.Redis]], when_full: type[StoreError] = StoreFull
    ) -> None:
        self.urls = urls
        self.when_full = when_full
        self._masters = masters

    def masters(self) -> Sequence[redis.Redis]:
        """Return clients of the servers with the data; the caller closes them."""
        return self._masters()

    def flush(self) -> None:
        """Delete everything, including shard maps: only for servers without connected sites."""
        for client in self._masters():
            with client:
                client.flushall()
                client.script_flush()

    def empty(self) -> None:
        """Delete all data while the site is connected."""
        for client in self._masters():
            with client:
                deleting = client.pipeline(transaction=False)
                for key in site_keys(client):  # one key per command: a cluster command uses one slot
                    deleting.delete(key)
                deleting.execute()

    def all_keys(self, pattern: str = "*") -> list[str]:
        """Return the site's keys on all servers, sorted."""
        key_names: list[str] = []
        for client in self._masters():
            with client:
                key_names += site_keys(client, pattern)
        return sorted(key_names)

    @contextlib.contextmanager
    def holding(self, key: str) -> Iterator[redis.Redis]:
        """Return a client of the server that stores the key; any server's client if none does."""
        clients = list(self._masters())
        try:
            yield next((client for client in clients if site_keys(client, key)), clients[0])
        finally:
            for client in clients:
                client.close()

    @contextlib.contextmanager
    def configured(self, name: str, value: object, usual: object) -> Iterator[None]:
        """Change a setting on all servers until the block ends."""
        self._configure(name, value)
        try:
            yield
        finally:
            self._configure(name, usual)

    def calls(self, *commands: str) -> Counter[str]:
        """Return how often each of these commands was called, summed over all servers."""
        call_counts: Counter[str] = Counter()
        for client in self._masters():
            with client:
                statistics = client.info("commandstats")
            for command in commands:
                call_counts[command] += int(statistics.get(f"cmdstat_{command}", {"calls": 0})["calls"])
        return call_counts

    def _configure(self, name: str, value: object) -> None:
        for client in self._masters():
            with client:
                client.config_set(name, str(value))


def site_keys(client: redis.Redis, pattern: str = "*") -> list[str]:
    """Return the keys of one server without the shard map, which belongs to the topology."""
    raw_keys: list[bytes] = client.execute_command("KEYS", pattern)  # type: ignore[no-untyped-call]
    return [key.decode() for key in raw_keys if not key.startswith(SHARD_MAP_KEY)]


def clients_of(servers: Sequence[RedisServer]) -> list[redis.Redis]:
    return [server.client() for server in servers]


@contextlib.contextmanager
def running_servers(servers: list[RedisServer]) -> Iterator[list[RedisServer]]:
    """Run these servers until the block ends."""
    with contextlib.ExitStack() as stopping:
        for server in servers:
            stopping.callback(server.stop)
            server.start()
        yield servers


def plain_servers(count: int) -> contextlib.AbstractContextManager[list[RedisServer]]:
    return running_servers([RedisServer() for _ in range(count)])


@contextlib.contextmanager
def single() -> Iterator[Deployment]:
    with plain_servers(1) as servers:
        yield Deployment(StoreUrls(servers[0].url), partial(clients_of, servers))


@contextlib.contextmanager
def embedded() -> Iterator[Deployment]:
    directory = Path(tempfile.mkdtemp(prefix="ss-embedded-", dir="/tmp"))
    server = EmbeddedServer.ensure_running(directory)
    try:
        url = server.url
        yield Deployment(StoreUrls(f"embedded://{directory}"), lambda: [redis.Redis.from_url(url)])
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


def shards_url(servers: Sequence[RedisServer], partitioner: str) -> str:
    sockets = ",".join(str(server.socket) for server in servers)
    return f"redis+shards://{sockets}?partitioner={partitioner}"


@contextlib.contextmanager
def shards(partitioner: str) -> Iterator[Deployment]:
    with plain_servers(SHARDS) as servers:
        yield Deployment(StoreUrls(shards_url(servers, partitioner)), partial(clients_of, servers))


@contextlib.contextmanager
def twemproxy() -> Iterator[Deployment]:
    with plain_servers(SHARDS + 1) as (plain, *servers), running_twemproxy(servers) as proxy:
        urls = StoreUrls(proxy.url, dict.fromkeys(NOT_BEHIND_TWEMPROXY, plain.url))
        # Twemproxy closes the connection to a server that is out of memory and replies "Invalid argument".
        yield Deployment(urls, partial(clients_of, [plain, *servers]), StoreUnavailable)


@contextlib.contextmanager
def cluster() -> Iterator[Deployment]:
    started = RedisCluster(masters=3)
    try:
        started.start()
        ports = [member.port for member in started.masters]
        yield Deployment(StoreUrls(started.url), lambda: [redis.Redis(port=port) for port in ports])
    finally:
        started.stop()


@contextlib.contextmanager
def sentinel() -> Iterator[Deployment]:
    from tests.support.sentinel import SentinelDeployment

    site = SentinelDeployment()
    try:
        site.start()
        yield Deployment(StoreUrls(site.url), lambda: [site.master.client()])
    finally:
        site.stop()


TOPOLOGIES: dict[str, Callable[[], contextlib.AbstractContextManager[Deployment]]] = {
    "single": single,
    "embedded": embedded,
    "shards-hash": partial(shards, "hash"),
    "shards-ring": partial(shards, "ring"),
    "shards-range": partial(shards, "range"),
    "shards-list": partial(shards, "list"),
    "sentinel": sentinel,
    "twemproxy": twemproxy,
    "cluster": cluster,
}


def main() -> None:
    """Start the topology NAME, print its settings, and stop it on Ctrl-C: `python -m tests.support.topologies NAME`."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in TOPOLOGIES:
        sys.exit(f"Name one of {', '.join(TOPOLOGIES)}.")
    with TOPOLOGIES[name]() as started:
        print(f"REDIS_URL='{started.urls.default}'")
        for component, url in started.urls.component_urls.items():
            print(f"REDIS_{component.upper()}_URL='{url}'")
        print("Ctrl-C stops the servers and deletes their data.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
