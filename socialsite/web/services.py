"""The services of the running event loop: `request.services` in views, `loop_services.get()` elsewhere.

The first call of `get` opens the services, and concurrent calls wait for it. settings.SERVICES_OPENER names the
function that opens them.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from contextvars import Context
from typing import Protocol, TypeVar
from weakref import WeakKeyDictionary

from django.conf import settings
from django.utils.module_loading import import_string

from socialsite.analytics.stats import Statistics
from socialsite.clock import Clock, FixedClock
from socialsite.recipes.job_worker import BackgroundQueue
from socialsite.recipes.rate_limit import RateLimiter, Rule
from socialsite.service import Service
from socialsite.service_config import ServiceConfig
from socialsite.store.store import Store

S = TypeVar("S", bound=Service)


class SiteServices(Protocol):
    """The services that the web layer uses by name. All other services are selected by their class."""

    @property
    def store(self) -> Store: ...
    @property
    def clock(self) -> Clock | FixedClock: ...
    @property
    def config(self) -> ServiceConfig: ...
    @property
    def limits(self) -> RateLimiter: ...
    @property
    def rules(self) -> Mapping[str, Rule]: ...
    @property
    def statistics(self) -> Statistics: ...
    async def check_archive(self) -> None: ...
    @property
    def background_queues(self) -> Mapping[str, BackgroundQueue]: ...
    def __getitem__(self, service_class: type[S]) -> S: ...


class LoopServices:
    """Stores the services of each event loop. Tests and commands set services that are already open with `bind`."""

    def __init__(self) -> None:
        self._bound: WeakKeyDictionary[asyncio.AbstractEventLoop, SiteServices] = WeakKeyDictionary()
        self._stacks: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncExitStack] = WeakKeyDictionary()
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    def bind(self, services: SiteServices) -> None:
        self._bound[asyncio.get_running_loop()] = services

    async def get(self) -> SiteServices:
        """Return the services of the running loop, and open them first if necessary. Raises StoreError."""
        loop = asyncio.get_running_loop()
        return self._bound.get(loop) or await self._open(loop)

    def current(self) -> SiteServices:
        """Return the open services, for code that Django calls without a request. Raises KeyError if there are none.

        These are the session engine (`SessionStore(key)`) and the backend (`aget_user(id)`).
        """
        return self._bound[asyncio.get_running_loop()]

    async def _open(self, loop: asyncio.AbstractEventLoop) -> SiteServices:
        async with self._locks.setdefault(loop, asyncio.Lock()):
            if loop not in self._bound:
                open_services = import_string(settings.SERVICES_OPENER)
                stack = AsyncExitStack()
                opening = stack.enter_async_context(open_services())
                # The context is empty, so that background tasks do not log the id of the first request.
                self._bound[loop] = await asyncio.create_task(opening, context=Context())
                self._stacks[loop] = stack
            return self._bound[loop]

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        self._bound.pop(loop, None)
        if stack := self._stacks.pop(loop, None):
            await stack.aclose()


loop_services = LoopServices()
