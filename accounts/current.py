"""The services of the running event loop, for code that Django calls without a request.

Django calls the session engine (`SessionStore(key)`) and the backend (`aget_user(id)`) in this way. All other code
takes its services from `request.services`. socialsite/startup.py binds the services of each loop.
"""

import asyncio
from typing import Protocol, TypeVar
from weakref import WeakKeyDictionary

from socialsite.service import Service

S = TypeVar("S", bound=Service)


class ServiceRegistry(Protocol):
    """Finds a service by its class."""

    def __getitem__(self, service_class: type[S], /) -> S: ...


_registry_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, ServiceRegistry] = WeakKeyDictionary()


def bind_services(registry: ServiceRegistry) -> None:
    """Make `registry` the services of the running loop."""
    _registry_by_loop[asyncio.get_running_loop()] = registry


def get_current_services() -> ServiceRegistry:
    """Return the services of the running loop. Raises RuntimeError if none are bound."""
    try:
        return _registry_by_loop[asyncio.get_running_loop()]
    except KeyError:
        raise RuntimeError("no services are bound to this event loop: open_services() does that") from None
