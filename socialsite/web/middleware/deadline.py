"""A request's deadline: for all of its work together, whatever it waits for.

Each call of the store has a time-out of its own, but a page makes several calls, and some are tried again.
"""

import asyncio

from django.http.response import HttpResponseBase

from socialsite.errors import DeadlineExceeded
from socialsite.web.middleware.base import Middleware
from socialsite.web.middleware.errors import respond_to_error
from socialsite.web.requests import SiteRequest


class DeadlineMiddleware(Middleware):
    """Cancels what is not done in time, 503; a response that streams may go on for longer."""

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        try:
            async with asyncio.timeout_at(request.deadline) as deadline:
                return await self.get_response(request)
        except TimeoutError:
            if not deadline.expired():
                raise
            return respond_to_error(request, DeadlineExceeded())
