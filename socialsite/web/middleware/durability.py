"""What a request has changed is in the servers' files before its answer says so (docs/reliability.md)."""

from http import HTTPStatus

from django.http.response import HttpResponseBase

from socialsite.store.aof import noting_nodes, written_out
from socialsite.store.errors import StoreUnavailable
from socialsite.web.middleware.base import Middleware
from socialsite.web.middleware.errors import answer_to
from socialsite.web.middleware.session import SAFE
from socialsite.web.requests import SiteRequest


class WrittenOutMiddleware(Middleware):
    """Looks at each node that answered an unsafe request, the session's own writes included."""

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        if request.method in SAFE:
            return await self.get_response(request)
        with noting_nodes() as nodes:
            response = await self.get_response(request)
        if response.status_code < HTTPStatus.BAD_REQUEST:
            try:
                await written_out(nodes)
            except StoreUnavailable as error:
                return answer_to(request, error)
        return response
