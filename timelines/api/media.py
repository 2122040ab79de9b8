"""Pictures in the API. An upload answers 202, and its address 206, until the picture is encoded."""

from http import HTTPStatus

from django.http import HttpResponse
from django.utils.translation import gettext as _

from socialsite.web.requests import SiteRequest, require_viewer_id
from socialsite.web.responses import json_response
from socialsite.web.uploads import accepts_files, get_files
from timelines.api.endpoint import check_token, endpoint
from timelines.api.entities.media import upload_entity
from timelines.api.fields import api_fields
from timelines.errors import MediaInvalid
from timelines.media.forms import parse_focus
from timelines.media.media import UPLOAD_MAX_BYTES, Media
from timelines.media.service import MediaService
from timelines.media.views import READY_TIMEOUT_S, check_upload


async def check_file(request: SiteRequest) -> None:
    """Check the token and count the upload, before the body is read."""
    check_token(request, ("write:media",), needs_account=True)
    await check_upload(request)


@accepts_files(2 * UPLOAD_MAX_BYTES, check_file)
@endpoint("write:media", needs_account=True)
async def upload(request: SiteRequest) -> HttpResponse:
    me, media = require_viewer_id(request), request.services[MediaService]
    if request.pending_body is None:
        await check_upload(request)  # the handler has read a small body before this check
    fields, files = api_fields(request), get_files(request, "file")
    if len(files) != 1:
        raise MediaInvalid({"file": _("Choose one picture.")})
    row = await media.upload(
        owner_id=me, content=files[0], alt=fields.get("description", ""), focus=parse_focus(fields) or (0.0, 0.0)
    )
    await media.wait_until_done([row], READY_TIMEOUT_S)
    return _response(request, await media.find_own(me, row.id), HTTPStatus.ACCEPTED)


@endpoint("write:media", needs_account=True)
async def show(request: SiteRequest, media_id: int) -> HttpResponse:
    row = await request.services[MediaService].find_own(require_viewer_id(request), media_id)
    return _response(request, row, HTTPStatus.PARTIAL_CONTENT)


@accepts_files(UPLOAD_MAX_BYTES, check_file)
@endpoint("write:media", needs_account=True)
async def describe(request: SiteRequest, media_id: int) -> HttpResponse:
    """Change the description and the focal point. A thumbnail is ignored, since the site makes one."""
    fields = api_fields(request)
    row = await request.services[MediaService].describe(
        owner_id=require_viewer_id(request), media_id=media_id, alt=fields.get("description"), focus=parse_focus(fields)
    )
    return _response(request, row, HTTPStatus.PARTIAL_CONTENT)


@endpoint("write:media", needs_account=True)
async def delete(request: SiteRequest, media_id: int) -> None:
    await request.services[MediaService].delete(owner_id=require_viewer_id(request), media_id=media_id)


def _response(request: SiteRequest, row: Media, unready_status: HTTPStatus) -> HttpResponse:
    status = HTTPStatus.OK if row.state == "ready" else unready_status
    return json_response(upload_entity(row, request.site_url), status)
