"""Respond to a write only after it is in the append-only files of the servers (docs/reference/reliability.md)."""

from http import HTTPStatus

from django.http.response import HttpResponseBase

from socialsite.store.aof import track_nodes, wait_for_aof
from socialsite.store.errors import StoreUnavailable
from socialsite.web.middleware.base import Middleware
from socialsite.web.middleware.errors import respond_to_error
from socialsite.web.requests import SAFE_METHODS, SiteRequest


class DurabilityMiddleware(Middleware):
    """Delays the response to an unsafe request until every node that it used has saved its append-only file."""

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        if request.method in SAFE_METHODS:
            return await self.get_response(request)
        with track_nodes() as nodes:
            response = await self.get_response(request)
        if response.status_code < HTTPStatus.BAD_REQUEST:
            try:
                await wait_for_aof(nodes)
            except StoreUnavailable as error:
                return respond_to_error(request, error)
        return response
