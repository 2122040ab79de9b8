"""Services opened over a store, with what has to go on beside them, and closed again."""

import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import replace

from django.conf import settings

from accounts import current
from socialsite.analytics import prometheus as metrics
from socialsite.clock import Clock
from socialsite.migration.opening import open_store
from socialsite.recipes.task_supervisor import TaskSupervisor
from socialsite.service_config import ServiceConfig
from socialsite.services.building import Services, build_services
from socialsite.services.partitions import check_partitions
from socialsite.services.starting import explained, require_versions
from socialsite.store import Node, Store, StoreError, StoreUrls

log = logging.getLogger(__name__)

Node.on_round_trip = staticmethod(metrics.observe_round_trip)


def as_cut(store: Store, config: ServiceConfig) -> ServiceConfig:
    """Follow edges that were cut anew: what the store says wins over a setting of before."""
    layout = store.partition_layouts.get("follows")
    if layout is None or layout.count == config.follow_partitions:
        return config
    log.warning("FOLLOW_PARTITIONS is %s; edges stand in %s", config.follow_partitions, layout.count)
    return replace(config, follow_partitions=layout.count)


@contextlib.asynccontextmanager
async def open_services(
    urls: StoreUrls | str | None = None, config: ServiceConfig | None = None
) -> AsyncIterator[Services]:
    """Services over the store of the settings (or of `urls`), with a clock kept right meanwhile."""
    config = config or ServiceConfig.from_settings()
    with explained():
        store = await open_store(
            urls or StoreUrls(settings.REDIS_URL, placed_urls()), require_replicas=config.require_replicas
        )

    async def server_ms() -> int | None:
        try:
            return await store.now_ms()
        except StoreError:
            return None

    clock = Clock(server_ms)
    try:
        config = as_cut(store, config)
        with explained():
            await require_versions(store)
            await check_partitions(store, config.follow_partitions, config.profile_partitions)
        await clock.refresh()
        services = build_services(store, clock, config)
        meter = services.statistics.meter
        upkeep = TaskSupervisor()
        upkeep.start(clock.refresh_forever)
        upkeep.start(meter.flush_forever)
        upkeep.start(metrics.sample_forever)
        current.bind_services(services.accounts, services.sessions)
        try:
            yield services
        finally:
            await upkeep.close()
            await meter.close()
            await services.repositories.archive.close()
    finally:
        await store.close()
        metrics.flush_round_trips()


def placed_urls() -> dict[str, str]:
    """`REDIS_<COMPONENT>_URL`s, but for the cache, which is Django's."""
    return {name: url for name, url in settings.REDIS_COMPONENT_URLS.items() if name != "cache"}
