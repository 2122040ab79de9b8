"""The deadline of a request.

Each call of the store has a time-out, but a request makes several calls and repeats some of them.
"""

import asyncio

from django.http.response import HttpResponseBase

from socialsite.errors import DeadlineExceeded
from socialsite.web.middleware.base import Middleware
from socialsite.web.middleware.errors import respond_to_error
from socialsite.web.requests import SiteRequest


class DeadlineMiddleware(Middleware):
    """Cancels a request at its deadline and responds with 503. A streaming response may take longer."""

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        try:
            async with asyncio.timeout_at(request.deadline) as deadline:
                return await self.get_response(request)
        except TimeoutError:
            if not deadline.expired():
                raise
            return respond_to_error(request, DeadlineExceeded())
