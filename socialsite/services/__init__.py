"""Composition root: builds the services of one event loop from a store. Nothing else knows all the parts.

browser -> view or consumer -> service -> repository -> store -> node, and back by the hub.
"""

from socialsite.services.building import Services, build_services
from socialsite.services.opening import as_cut, open_services, placed_urls
from socialsite.services.partitions import WrongPartitions, check_partitions, partitions_key
from socialsite.services.repositories import AnyClock, Repositories

__all__ = [
    "AnyClock", "Repositories", "Services", "WrongPartitions", "as_cut", "build_services", "check_partitions",
    "open_services", "partitions_key", "placed_urls",
]  # fmt: skip
