"""Respond to a write only after it is in the append-only files of the servers (docs/reference/reliability.md)."""

from http import HTTPStatus

from django.http.response import HttpResponseBase

from socialsite.store.aof import track_nodes, wait_for_aof
from socialsite.store.errors import StoreUnavailable
from socialsite.web.middleware.base import Middleware
from socialsite.web.middleware.errors import respond_to_error
from socialsite.web.requests import SAFE_METHODS, SiteRequest

REFUSED_BY_STATE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)
"""The statuses that tell a client what is stored: a deletion is 404 if an earlier request has deleted the same."""


class DurabilityMiddleware(Middleware):
    """Delays the response to an unsafe request until every node that it used has saved its append-only file.

    A refusal that tells what is stored waits for the replicas too (REQUIRE_REPLICAS): it has written nothing, and the
    state that it tells may be on the master alone.
    """

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        if request.method in SAFE_METHODS:
            return await self.get_response(request)
        with track_nodes() as nodes:
            response = await self.get_response(request)
        is_refused = response.status_code in REFUSED_BY_STATE
        if is_refused or response.status_code < HTTPStatus.BAD_REQUEST:
            try:
                if is_refused:
                    await request.services.store.confirm(nodes)
                await wait_for_aof(nodes)
            except StoreUnavailable as error:
                return respond_to_error(request, error)
        return response
