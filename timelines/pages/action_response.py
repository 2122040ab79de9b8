"""The answer to an action that worked."""

from http import HTTPStatus

from django.http.response import HttpResponseBase

from socialsite.web.requests import SiteRequest, json_response, see_other, wants_json


def done(
    request: SiteRequest, data: object, *, default: str, status: int = HTTPStatus.OK
) -> HttpResponseBase:
    """JSON, or 303 to the form's `next`, else to `default`."""
    return json_response(data, status) if wants_json(request) else see_other(request, default)
