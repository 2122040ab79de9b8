"""What a request has changed is in the servers' files before its answer says so (docs/reliability.md)."""

from http import HTTPStatus

from django.http.response import HttpResponseBase

from socialsite.http import SiteRequest
from socialsite.store.errors import StoreUnavailable
from socialsite.store.written_out import noting_nodes, written_out

from .base import Middleware
from .errors import answer_to
from .session import SAFE


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
