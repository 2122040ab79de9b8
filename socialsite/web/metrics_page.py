"""`/metrics`: what the processes of this machine counted, and how the store stands at this moment.

Not for the world: it is shown to who asks directly, from a network in METRICS_ALLOWED. A request that came
through any proxy is somebody else's, whatever its address says: there it does not exist (404).
"""

import asyncio
from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address

from django.conf import settings
from django.http import Http404, HttpResponse
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from socialsite.analytics import multiprocess as metrics_shared
from socialsite.analytics import prometheus as metrics
from socialsite.store.errors import StoreError
from socialsite.store.info import facts_of
from socialsite.store.node import Node
from socialsite.web.health import OK, OPENING_WITHIN_S, WITHIN_S, Readiness, readiness
from socialsite.web.middleware.services import loop_services
from socialsite.web.requests import SiteRequest

FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA")
NodeFacts = tuple[str, dict[str, str]]


async def metrics_page(request: SiteRequest) -> HttpResponse:
    if not is_from_inside(request):
        raise Http404
    metrics.count_round_trips()
    families = site_figures(*await asyncio.gather(readiness(), node_facts()))
    # In a thread: the files of many processes take a while to add up, and pages go on meanwhile.
    page = await asyncio.to_thread(exposition, families)
    return HttpResponse(page, content_type=CONTENT_TYPE_LATEST)


def is_from_inside(request: SiteRequest) -> bool:
    """Asked directly, from a network that may know."""
    if any(header in request.META for header in FORWARDED):
        return False
    try:
        peer = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    mapped = peer.ipv4_mapped if isinstance(peer, IPv6Address) else None
    return any((mapped or peer) in network for network in settings.METRICS_ALLOWED)


def exposition(families: Iterable[Metric]) -> bytes:
    """Prometheus's text: the counts, then `families`."""
    figures = CollectorRegistry(auto_describe=False)
    figures.register(Figures(families))
    return counts() + generate_latest(figures)


def counts() -> bytes:
    """What all processes of METRICS_DIR counted, the dead ones too; without it, this one."""
    metrics.look_at_process()
    place = metrics_shared.directory()
    if place is None:
        return generate_latest(REGISTRY)
    with metrics_shared.alone(place):
        metrics_shared.bury_the_dead(place)
        registry = CollectorRegistry()
        MultiProcessCollector(registry, str(place))  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class Figures(Collector):
    """Families that were made already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


async def node_facts() -> list[NodeFacts]:
    """INFO memory of each node that answers in time."""
    until = asyncio.get_running_loop().time() + WITHIN_S
    try:
        async with asyncio.timeout(OPENING_WITHIN_S):
            services = await loop_services.get()
    except (StoreError, TimeoutError):
        return []
    found = await asyncio.gather(*(_memory_of(node, until) for node in services.store.nodes))
    return [facts for facts in found if facts is not None]


async def _memory_of(node: Node, until: float) -> NodeFacts | None:
    try:
        async with asyncio.timeout_at(until):
            return str(node.address), facts_of(await node.execute("INFO", "memory"))
    except (StoreError, TimeoutError):
        return None


def site_figures(ready: Readiness, nodes: Iterable[NodeFacts]) -> list[Metric]:
    """Gauges of this moment, the same whichever process is asked."""
    up = GaugeMetricFamily(
        "socialsite_component_up", "1 where a component answers and takes writes", labels=["component"]
    )
    for component, state in ready.components.items():
        up.add_metric([component], float(state == OK))
    used = GaugeMetricFamily("socialsite_redis_used_bytes", "Memory used, by node", labels=["node"])
    most = GaugeMetricFamily("socialsite_redis_max_bytes", "maxmemory, by node; 0: no limit", labels=["node"])
    for node, facts in nodes:
        used.add_metric([node], float(facts.get("used_memory", 0)))
        most.add_metric([node], float(facts.get("maxmemory", 0)))
    return [up, used, most, *_outbox_figures(ready)]


def _outbox_figures(ready: Readiness) -> list[Metric]:
    if ready.outbox is None:
        return []
    depth, jobs = ready.outbox, "Jobs the workers owe, by what became of them"
    owed = GaugeMetricFamily("socialsite_outbox_jobs", jobs, labels=["state"])
    for state, count in (("waiting", depth.waiting), ("pending", depth.pending), ("dead", depth.dead)):
        owed.add_metric([state], count)
    age = GaugeMetricFamily("socialsite_outbox_oldest_seconds", "Age of the oldest job owed; 0: none")
    age.add_metric([], depth.oldest_ms / 1000)
    return [owed, age]
