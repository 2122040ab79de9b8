"""The connections of Django's cache to the master of a Sentinel group."""

from typing import Any

from redis.sentinel import SentinelConnectionPool


class MasterPool(SentinelConnectionPool):
    """Connections to the master `master_name`. django-redis passes its name in lower case only."""

    def __init__(self, service_name: str, sentinel_manager: Any, *, master_name: str, **options: Any) -> None:
        super().__init__(master_name, sentinel_manager, **options)  # type: ignore[no-untyped-call]
