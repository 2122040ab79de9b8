"""The deadline of a request, and its turn among the requests of its address.

Each call of the store has a time-out, but a request makes several calls and repeats some of them.
"""

import asyncio
from weakref import WeakValueDictionary

from django.http.response import HttpResponseBase

from socialsite.errors import DeadlineExceeded
from socialsite.limits import address_factors
from socialsite.recipes.rate_limit import Identifier
from socialsite.web.middleware.base import Middleware
from socialsite.web.middleware.errors import respond_to_error
from socialsite.web.requests import SiteRequest

REQUESTS_PER_ADDRESS = 64
"""Requests of an address that run at the same time in this process. Others wait in their order.

So a client with a thousand connections delays others as much as a client with 64.
"""
_turns: WeakValueDictionary[Identifier, asyncio.Semaphore] = WeakValueDictionary()


class DeadlineMiddleware(Middleware):
    """Cancels a request at its deadline and responds with 503. A streaming response may take longer."""

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        try:
            async with asyncio.timeout_at(request.deadline) as deadline, _find_turns(request.client_address):
                return await self.get_response(request)
        except TimeoutError:
            if not deadline.expired():
                raise
            return respond_to_error(request, DeadlineExceeded())


def _find_turns(address: str) -> asyncio.Semaphore:
    """Return the turns of the address, or of its network of IPv6. They exist while a request has one or waits."""
    network = next(iter(address_factors(address)))
    return _turns.get(network) or _turns.setdefault(network, asyncio.Semaphore(REQUESTS_PER_ADDRESS))
