"""The view of the HTML that the scripts of pictures insert into pages."""

from django.conf import settings
from django.http.response import HttpResponse

from socialsite.web.requests import SiteRequest
from socialsite.web.responses import page_response
from timelines.media.media import ALT_MAX_LENGTH, MEDIA_PER_POST, UPLOAD_MAX_BYTES


async def picture_dialogs(request: SiteRequest) -> HttpResponse:
    """Return the viewer and the editor of pictures, in the reader's language."""
    context = {
        "max_description_length": ALT_MAX_LENGTH,
        "max_bytes": UPLOAD_MAX_BYTES,
        "max_pictures": MEDIA_PER_POST,
        "asks_for_descriptions": settings.DESCRIPTIONS_COOKIE_NAME not in request.COOKIES,
    }
    return page_response(request, "timelines/_picture_dialogs.html", context)
