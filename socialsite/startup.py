"""Open the services of one event loop: check the servers, run the background tasks, close everything at the end.

If a server does not answer, StoreUnavailable is raised: the web process responds with 503 until the server is back, and
a worker exits. Any other StoreError is a permanent error, for example of the configuration: the process does not start.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial

from django.conf import settings

from socialsite import keys as site_keys
from socialsite.analytics import prometheus as metrics
from socialsite.clock import REFRESH_INTERVAL_S, Clock
from socialsite.concurrency import run_together
from socialsite.container import Services
from socialsite.ids import PostIdGenerator
from socialsite.migration.store_factory import open_store
from socialsite.recipes.task_supervisor import TaskSupervisor
from socialsite.service_config import ServiceConfig
from socialsite.site.service import REFRESH_INTERVAL_S as SITE_REFRESH_INTERVAL_S
from socialsite.store import AccessDenied, CommandRefused, Node, Store, StoreError, StoreUnavailable, StoreUrls
from socialsite.store.embedded.binaries import EmbeddedServerError
from socialsite.store.replies import MIN_VERSION, NO_EVICTION, parse_info
from socialsite.store.site_marks import RAISE_NUMBER, RESTORING, check_and_write_marks, read_site
from timelines import keys

PREVIEWS_INTERVAL_S = 5.0

log = logging.getLogger(__name__)

Node.on_round_trip = staticmethod(metrics.observe_round_trip)

UNREACHABLE_PREFIXES = ("cannot connect", "lost the connection", "no answer from", "no node of the cluster")
HINTS = {
    "cluster support disabled": "it is not a member of a cluster, so write redis:// for it",
    "MOVED ": "this server is a member of a cluster, so write redis+cluster://",
    "CLUSTERDOWN": "this server is a member of a cluster that is incomplete: repair it, then write redis+cluster://",
    "READONLY": "this server is a replica: name its master",
    "NOAUTH": "put user and password into the URL (redis://user:password@host:port)",
    "unauthenticated": "put user and password into the URL (redis://user:password@host:port)",
    "WRONGPASS": "correct user and password in the URL",
    "without any password configured": "remove the password from the URL",
    "CERTIFICATE_VERIFY_FAILED": "name the CA that signed the server's certificate (ssl_ca_certs), for this host name",
    "CERTIFICATE_REQUIRED": "name the client's certificate and key (ssl_certfile, ssl_keyfile)",
    "NOPERM": "give its user the rights of deploy/redis/users.acl.in",
    "DB index is out of range": "correct the number of the database in the URL",
}
"""Part of a server's error text -> what the operator has to change."""
PARTITION_HINTS = {
    "FOLLOW_PARTITIONS": " (`manage.py repartition --follow-partitions N` changes it)",
    "PROFILE_PARTITIONS": "; it cannot be changed after the first start",
}


class NotUsable(StoreError):
    """The server answers, but its state or its URL prevents its use."""


class ServerTooOld(StoreError):
    """The server lacks commands that the site needs."""


class WrongPartitions(StoreError):
    """FOLLOW_PARTITIONS or PROFILE_PARTITIONS differs from the number that the store was created with."""


@contextlib.asynccontextmanager
async def open_services(
    urls: StoreUrls | str | None = None, config: ServiceConfig | None = None, *, may_be_restoring: bool = False
) -> AsyncIterator[Services]:
    """Open services over the store of `urls` (default: the settings), and run their background tasks.

    If `may_be_restoring`, a store whose restore did not finish is accepted.
    """
    config = config or ServiceConfig.from_settings()
    with with_hints():
        store = await open_store(
            urls or StoreUrls(settings.REDIS_URL, component_urls()), require_replicas=config.require_replicas
        )

    try:
        config = effective_config(store, config)
        with with_hints():
            await require_usable_servers(store)
            if not may_be_restoring or RESTORING not in await read_site(store.topology("map")):
                await check_and_write_marks(store)
            await check_partitions(store, config.follow_partitions, config.profile_partitions)
        clock = Clock(partial(_read_server_ms, store))
        await clock.refresh()
        services = Services(store, clock, config)
        await services.site.refresh()
        await share_newest_post_id(store, services.ids)
        tasks = _start_background_tasks(services, clock)
        try:
            yield services
        finally:
            await tasks.close()
            await share_newest_post_id(store, services.ids)
            await services.statistics.meter.close()
            await services.repositories.archive.close()
    finally:
        await store.close()
        metrics.flush_round_trips()


def _start_background_tasks(services: Services, clock: Clock) -> TaskSupervisor:
    tasks = TaskSupervisor()
    tasks.repeat(REFRESH_INTERVAL_S, clock.refresh)
    tasks.repeat(SITE_REFRESH_INTERVAL_S, services.site.refresh)
    tasks.repeat(REFRESH_INTERVAL_S, partial(share_newest_post_id, services.store, services.ids))
    tasks.start(services.statistics.meter.flush_forever)
    tasks.start(partial(renew_previews_forever, services))
    tasks.start(metrics.sample_forever)
    return tasks


async def _read_server_ms(store: Store) -> int | None:
    try:
        return await store.now_ms()
    except StoreError:
        return None


async def share_newest_post_id(store: Store, ids: PostIdGenerator) -> None:
    """Continue after the newest recorded post id, and record the newest id of this process.

    Ids therefore ascend even if the clock of a server was set back.
    """
    key = site_keys.newest_post_id()
    with contextlib.suppress(StoreError):
        ids.continue_after(await store.node(key).execute(*RAISE_NUMBER.command([key], [ids.last_id])))


async def renew_previews_forever(services: Services) -> None:
    """Queue the links whose expired previews readers of this process missed."""
    while True:
        await asyncio.sleep(PREVIEWS_INTERVAL_S)
        with contextlib.suppress(StoreError):
            await services.previews.request_renewals()


def component_urls() -> dict[str, str]:
    """Return the URLs of components except the cache, which Django opens."""
    return {name: url for name, url in settings.REDIS_COMPONENT_URLS.items() if name != "cache"}


def effective_config(store: Store, config: ServiceConfig) -> ServiceConfig:
    """Return `config` with the store's present number of follow partitions, which a repartitioning changes."""
    layout = store.partition_layouts.get("follows")
    if layout is None or layout.count == config.follow_partitions:
        return config
    log.warning("FOLLOW_PARTITIONS is %s; the edges are in %s partitions", config.follow_partitions, layout.count)
    return replace(config, follow_partitions=layout.count)


@contextlib.contextmanager
def with_hints() -> Iterator[None]:
    """Add a hint for the operator to errors that prevent a start."""
    try:
        yield
    except EmbeddedServerError as error:
        raise NotUsable(str(error)) from error
    except (StoreUnavailable, CommandRefused) as error:
        text = str(error).rstrip(".")
        hint = next((hint for words, hint in HINTS.items() if words in text), None)
        if hint is not None:
            raise NotUsable(f"{text}: {hint}") from error
        if text.startswith(UNREACHABLE_PREFIXES):
            raise StoreUnavailable(f"{text}: start it, or correct its URL") from error
        raise


async def require_usable_servers(store: Store, lowest: tuple[int, int] = MIN_VERSION) -> None:
    """Raise ServerTooOld or NotUsable if a server that answers is older than `lowest` or evicts data."""
    infos = await run_together(*map(_read_info, store.nodes))
    for node, info in zip(store.nodes, infos, strict=True):
        version = info.get("redis_version")
        if version is not None and tuple(map(int, version.split(".")[:2])) < lowest:
            required = ".".join(map(str, lowest))
            raise ServerTooOld(
                f"{node.address} runs version {version} and the site needs {required} or newer: upgrade it"
            )
        if info.get("maxmemory_policy", NO_EVICTION) != NO_EVICTION:
            raise NotUsable(f"{node.address} deletes data when its memory is full: set maxmemory-policy to noeviction")


async def _read_info(node: Node) -> dict[str, str]:
    """Return fields of INFO, or {} if the server does not answer, because then only its keys are unavailable."""
    try:
        return parse_info(b"\r\n".join(await node.execute_all([("INFO", "server"), ("INFO", "memory")])))
    except AccessDenied:
        raise
    except StoreUnavailable:
        return {}


async def check_partitions(store: Store, follows: int, profiles: int = 1) -> None:
    """Record the numbers of partitions, or compare them with the recorded numbers, since keys contain them.

    Raises WrongPartitions if a number differs.
    """
    keys_by_setting = {
        "FOLLOW_PARTITIONS": (keys.follow_partitions(), follows),
        "PROFILE_PARTITIONS": (keys.author_timeline_partitions(), profiles),
    }
    for setting, (key, partitions) in keys_by_setting.items():
        recorded = await store.node(key).execute("GET", key)  # read first, because a full server refuses SET
        if recorded is None:
            recorded = await store.node(key).execute("SET", key, partitions, "NX", "GET")
        if recorded is not None and int(recorded) != partitions:
            raise WrongPartitions(
                f"this store was created with {setting}={int(recorded)}, but the setting is {partitions}: "
                f"restore the old number{PARTITION_HINTS[setting]}"
            )
