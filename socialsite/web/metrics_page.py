"""`/metrics`: the counts of all processes of this machine, and the state of the store.

A client gets the page if it connects directly from a network of METRICS_ALLOWED and, if METRICS_TOKEN is set, sends the
token. Other clients, and all requests through a proxy, get 404. A tunnel that adds no headers looks like a direct
client, so only the token refuses its users.
"""

import asyncio
from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address

from django.conf import settings
from django.http import Http404, HttpResponse
from django.utils.crypto import constant_time_compare
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from socialsite.analytics import multiprocess, prometheus
from socialsite.store.replies import NO_EVICTION
from socialsite.web.health import OK, Readiness, check_readiness
from socialsite.web.requests import SiteRequest

FORWARDED_HEADERS = ("HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA")


async def metrics_page(request: SiteRequest) -> HttpResponse:
    if not is_allowed_client(request):
        raise Http404
    prometheus.flush_round_trips()
    families = build_gauges(await check_readiness())
    # This runs in a thread, because adding up the files of many processes takes long.
    return HttpResponse(await asyncio.to_thread(render_metrics, families), content_type=CONTENT_TYPE_LATEST)


def is_allowed_client(request: SiteRequest) -> bool:
    """Return whether the client is connected directly, in an allowed network, and has the token."""
    if any(header in request.META for header in FORWARDED_HEADERS):
        return False
    token = f"Bearer {settings.METRICS_TOKEN}"
    if settings.METRICS_TOKEN and not constant_time_compare(request.META.get("HTTP_AUTHORIZATION", ""), token):
        return False
    try:
        peer = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    mapped = peer.ipv4_mapped if isinstance(peer, IPv6Address) else None
    return any((mapped or peer) in network for network in settings.METRICS_ALLOWED)


def render_metrics(families: Iterable[Metric]) -> bytes:
    """Render the counts, then `families`, in Prometheus's text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(PrebuiltCollector(families))
    return render_counters() + generate_latest(registry)


def render_counters() -> bytes:
    """Render the counts of all present and former processes of METRICS_DIR, or of this process without it."""
    prometheus.sample_process()
    directory = multiprocess.get_directory()
    if directory is None:
        return generate_latest(REGISTRY)
    with multiprocess.lock_directory(directory):
        multiprocess.merge_dead_processes(directory)
        registry = CollectorRegistry()
        MultiProcessCollector(registry, str(directory))  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class PrebuiltCollector(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def build_gauges(ready: Readiness) -> list[Metric]:
    """Build gauges of the store's state, which are the same in every process."""
    up = GaugeMetricFamily(
        "socialsite_component_up", "1 if a component answers and accepts writes", labels=["component"]
    )
    for component, state in ready.components.items():
        up.add_metric([component], float(state == OK))
    used = GaugeMetricFamily("socialsite_redis_used_bytes", "Memory used, by node", labels=["node"])
    limit = GaugeMetricFamily("socialsite_redis_max_bytes", "maxmemory, by node; 0: no limit", labels=["node"])
    evicts = GaugeMetricFamily(
        "socialsite_redis_evicts", "1 if the node may delete data (maxmemory-policy), by node", labels=["node"]
    )
    for node, facts in ready.infos.values():
        evicts.add_metric([node], float(facts.get("maxmemory_policy", NO_EVICTION) != NO_EVICTION))
        used.add_metric([node], float(facts.get("used_memory", 0)))
        limit.add_metric([node], float(facts.get("maxmemory", 0)))
    return [up, used, limit, evicts, *_build_outbox_gauges(ready), *_build_queue_gauges(ready)]


def _build_outbox_gauges(ready: Readiness) -> list[Metric]:
    if ready.outbox is None:
        return []
    depth, help_text = ready.outbox, "Unfinished jobs of the workers, by state"
    jobs = GaugeMetricFamily("socialsite_outbox_jobs", help_text, labels=["state"])
    for state, count in (("waiting", depth.waiting), ("pending", depth.pending), ("dead", depth.dead)):
        jobs.add_metric([state], count)
    age = GaugeMetricFamily("socialsite_outbox_oldest_seconds", "Age of the oldest unfinished job; 0: none")
    age.add_metric([], depth.oldest_ms / 1000)
    return [jobs, age]


def _build_queue_gauges(ready: Readiness) -> list[Metric]:
    """Build gauges of all queues. The gauges of the outbox also have their own names."""
    jobs = GaugeMetricFamily("socialsite_queue_jobs", "Unfinished jobs, by queue and state", labels=["queue", "state"])
    age = GaugeMetricFamily("socialsite_queue_oldest_seconds", "Age of the oldest job, by queue", labels=["queue"])
    for name, depth in ready.queues.items():
        for state, count in (("waiting", depth.waiting), ("pending", depth.pending), ("dead", depth.dead)):
            jobs.add_metric([name, state], count)
        age.add_metric([name], depth.oldest_ms / 1000)
    return [jobs, age]
