"""The views that set and remove the avatar and the header of the viewer."""

from django.contrib import messages
from django.core.files.base import File
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.domain import PictureKind, picture_url
from socialsite.web.requests import AsyncView, SiteRequest, get_form_data, require_viewer_id, wants_json
from socialsite.web.responses import SeeOther, done
from socialsite.web.uploads import accepts_files, get_files
from timelines.errors import MediaInvalid
from timelines.media.forms import parse_crop
from timelines.media.media import UPLOAD_MAX_BYTES
from timelines.media.service import MediaService
from timelines.media.views import check_upload

SETTINGS_PATH = "/accounts/settings/"


def picture_view(kind: PictureKind) -> AsyncView[[]]:
    """Return the POST view of the avatar or the header. The field `remove` removes it, else `file` replaces it."""

    @accepts_files(UPLOAD_MAX_BYTES, check_upload)
    async def set_picture(request: SiteRequest) -> HttpResponseBase:
        me, services = require_viewer_id(request), request.services
        try:
            name = await services[MediaService].set_profile_picture(
                account_id=me, kind=kind, content=await find_picture(request), crop=parse_crop(get_form_data(request))
            )
        except MediaInvalid as error:
            if wants_json(request):
                raise
            messages.error(request, " ".join(map(str, error.fields.values())) or str(error.message))
            return SeeOther(SETTINGS_PATH)
        data, message = {kind: picture_url(name, "full") or None}, _("Your profile is saved.")
        return done(request, data, default=SETTINGS_PATH, message=message)

    return set_picture


async def find_picture(request: SiteRequest) -> "File[bytes] | None":
    """Return the uploaded file, or None if the picture is to be removed. Raises MediaInvalid."""
    if "remove" in get_form_data(request):
        return None
    if request.pending_body is None:
        await check_upload(request)  # a small body, which the handler read
    files = get_files(request, "file")
    if len(files) != 1:
        raise MediaInvalid({"file": _("Choose one picture.")})
    return files[0]


set_avatar, set_header = picture_view("avatar"), picture_view("header")
