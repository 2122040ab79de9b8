"""`request.services`: the services of the running event loop, opened by its first request.

daphne tells its application nothing about start and stop, so they open lazily, and once: requests that come
meanwhile wait for the same opening. A server that does tell (lifespan) closes them through `stop_services`.
"""

import asyncio
from contextlib import AsyncExitStack
from weakref import WeakKeyDictionary

from django.http.response import HttpResponseBase

from socialsite.services import Services, open_services
from socialsite.store.errors import StoreError
from socialsite.web.middleware.base import PROBE_PATHS, Middleware
from socialsite.web.middleware.errors import respond_to_error
from socialsite.web.requests import SiteRequest
from timelines.hashtags.trend_views import cached_trends_panel


class LoopServices:
    """One Services a loop. `bind` puts ready-made ones in their place (tests, commands)."""

    def __init__(self) -> None:
        self._bound: WeakKeyDictionary[asyncio.AbstractEventLoop, Services] = WeakKeyDictionary()
        self._stacks: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncExitStack] = WeakKeyDictionary()
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    def bind(self, services: Services) -> None:
        self._bound[asyncio.get_running_loop()] = services

    async def get(self) -> Services:
        loop = asyncio.get_running_loop()
        return self._bound.get(loop) or await self._open(loop)

    async def _open(self, loop: asyncio.AbstractEventLoop) -> Services:
        async with self._locks.setdefault(loop, asyncio.Lock()):
            if loop not in self._bound:
                stack = AsyncExitStack()
                self._bound[loop] = await stack.enter_async_context(open_services())
                self._stacks[loop] = stack
            return self._bound[loop]

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        self._bound.pop(loop, None)
        if stack := self._stacks.pop(loop, None):
            await stack.aclose()


loop_services = LoopServices()


class ServicesMiddleware(Middleware):
    """A store that cannot be opened yet is store trouble like any other: 503, and the next request tries
    again.
    """

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        if request.path_info in PROBE_PATHS:
            return await self.get_response(request)
        try:
            request.services = await loop_services.get()
            request.render_trends = cached_trends_panel
        except StoreError as error:
            return respond_to_error(request, error)
        return await self.get_response(request)
