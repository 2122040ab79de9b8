"""The views that upload, describe and delete pictures, and that serve their files."""

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.web.requests import SiteRequest, get_form_data, get_viewer_id, require_viewer_id
from socialsite.web.responses import SeeOther, done, json_response
from socialsite.web.uploads import accepts_files, get_files
from timelines.errors import MediaInvalid, MediaNotFound
from timelines.media.forms import parse_crop, parse_focus, parse_kind
from timelines.media.media import CONTENT_TYPES, UPLOAD_MAX_BYTES, Media, MediaSize, media_url
from timelines.media.service import MediaService
from timelines.media.storage import MediaFiles

READY_TIMEOUT_S = 2.0
"""Time that an upload waits for its encoding. Then the client asks again."""
PUBLIC_CACHING, PRIVATE_CACHING = "public, max-age=31536000, immutable", "private, max-age=31536000, immutable"
FILE_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
"""The styles are those of the page with which Chromium shows a picture alone. No script runs."""


async def check_upload(request: SiteRequest) -> None:
    """Refuse an upload before its body is read. Raises SignInRequired, RateLimited, MediaQuotaReached."""
    await request.services[MediaService].check_upload(require_viewer_id(request), request.caller)


@accepts_files(UPLOAD_MAX_BYTES, check_upload)
async def upload(request: SiteRequest) -> HttpResponseBase:
    me, fields = require_viewer_id(request), get_form_data(request)
    if request.pending_body is None:
        await check_upload(request)  # the handler has read a small body before this check
    files, media = get_files(request, "file"), request.services[MediaService]
    if len(files) != 1:
        raise MediaInvalid({"file": _("Choose one picture.")})
    row = await media.upload(
        owner_id=me,
        content=files[0],
        kind=parse_kind(fields),
        alt=fields.get("description", ""),
        focus=parse_focus(fields) or (0.0, 0.0),
        crop=parse_crop(fields),
    )
    await media.wait_until_done([row], READY_TIMEOUT_S)
    row = await media.find_own(me, row.id)
    return json_response(media_json(row), HTTPStatus.OK if row.state == "ready" else HTTPStatus.ACCEPTED)


async def show(request: SiteRequest, media_id: int) -> HttpResponseBase:
    """Return a picture of the viewer as JSON, with 206 while it is encoded. Redirect image requests to the file."""
    row = await request.services[MediaService].find_own(require_viewer_id(request), media_id)
    if row.state == "ready" and request.META.get("HTTP_ACCEPT", "").startswith("image/"):
        return SeeOther(media_url(row.name, "small", row.extension))
    return json_response(media_json(row), HTTPStatus.OK if row.state == "ready" else HTTPStatus.PARTIAL_CONTENT)


async def describe(request: SiteRequest, media_id: int) -> HttpResponseBase:
    fields = get_form_data(request)
    row = await request.services[MediaService].describe(
        owner_id=require_viewer_id(request), media_id=media_id, alt=fields.get("description"), focus=parse_focus(fields)
    )
    return done(request, media_json(row), default="/")


async def delete(request: SiteRequest, media_id: int) -> HttpResponseBase:
    await request.services[MediaService].delete(owner_id=require_viewer_id(request), media_id=media_id)
    return done(request, {"deleted": str(media_id)}, default="/")


async def file(request: SiteRequest, name: str, size: MediaSize, extension: str) -> HttpResponseBase:
    """Send a file to a viewer of its post, or let nginx send it."""
    services = request.services
    key = request.GET.get("key", "")
    served = await services[MediaService].find_file(get_viewer_id(request), name, size, extension, key)
    response: HttpResponseBase
    if settings.MEDIA_ACCEL_PATH:
        response = HttpResponse(headers={"X-Accel-Redirect": f"{settings.MEDIA_ACCEL_PATH}{served.name}"})
    else:
        response = StreamingHttpResponse(await _open(services[MediaFiles], served.name))
    response.headers["Content-Type"] = CONTENT_TYPES[extension]
    response.headers["Cache-Control"] = PUBLIC_CACHING if served.is_public else PRIVATE_CACHING
    response.headers["Content-Security-Policy"] = FILE_POLICY
    if served.is_public or key:  # other sites request it without cookies of this site
        response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Content-Disposition"] = f'inline; filename="{name}.{extension}"'
    return response


async def _open(files: MediaFiles, name: str) -> AsyncIterator[bytes]:
    try:
        return files.read_chunks(await files.open(name))
    except FileNotFoundError as error:
        raise MediaNotFound from error


def media_json(row: Media) -> dict[str, Any]:
    """Return a picture as Mastodon's MediaAttachment. The URLs are null until it is encoded."""
    is_ready = row.state == "ready"
    return {
        "id": str(row.id),
        "type": "image",
        "name": row.name,
        "url": media_url(row.name, "full", row.extension) if is_ready else None,
        "preview_url": media_url(row.name, "small", row.extension) if is_ready else None,
        "description": row.alt or None,
        "blurhash": row.blurhash or None,
        "meta": {
            "focus": {"x": row.focus_x, "y": row.focus_y},
            **({"original": _size_json(row.width, row.height)} if is_ready else {}),
            **({"small": _size_json(row.small_width, row.small_height)} if is_ready else {}),
        },
    }


def _size_json(width: int, height: int) -> dict[str, object]:
    return {"width": width, "height": height, "size": f"{width}x{height}", "aspect": width / height}
