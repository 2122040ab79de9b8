"""The views that set and remove the avatar and the header of the viewer."""

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.accounts.service import AccountService
from accounts.domain import PictureKind, picture_url
from socialsite.ids import AccountId
from socialsite.web.requests import AsyncView, SiteRequest, get_form_data, require_viewer_id, wants_json
from socialsite.web.responses import SeeOther, done
from socialsite.web.uploads import accepts_files, get_files
from timelines.errors import MediaInvalid
from timelines.media.forms import parse_crop
from timelines.media.media import UPLOAD_MAX_BYTES
from timelines.media.service import MediaService
from timelines.media.views import check_upload

SETTINGS_PATH = "/accounts/settings/"
READY_TIMEOUT_S = 5.0
"""Time that the form waits for the encoding."""


def picture_view(kind: PictureKind) -> AsyncView[[]]:
    """Return the POST view of the avatar or the header. The field `remove` removes it, else `file` replaces it."""

    @accepts_files(UPLOAD_MAX_BYTES, check_upload)
    async def set_picture(request: SiteRequest) -> HttpResponseBase:
        me, services = require_viewer_id(request), request.services
        try:
            name = "" if "remove" in get_form_data(request) else await _upload(request, me, kind)
        except MediaInvalid as error:
            if wants_json(request):
                raise
            messages.error(request, " ".join(map(str, error.fields.values())) or str(error.message))
            return SeeOther(SETTINGS_PATH)
        former = await services[AccountService].set_picture(account_id=me, kind=kind, name=name)
        if former != name:
            await services[MediaService].release_name(former)
        messages.success(request, _("Your profile is saved."), fail_silently=True)
        return done(request, {kind: picture_url(name, "full") or None}, default=SETTINGS_PATH)

    return set_picture


async def _upload(request: SiteRequest, owner_id: AccountId, kind: PictureKind) -> str:
    """Return the name of the encoded picture. Raises MediaInvalid."""
    if request.pending_body is None:
        await check_upload(request)  # a small body, which the handler read
    files, media = get_files(request, "file"), request.services[MediaService]
    if len(files) != 1:
        raise MediaInvalid({"file": _("Choose one picture.")})
    crop = parse_crop(get_form_data(request))
    row = await media.upload(owner_id=owner_id, content=files[0], kind=kind, crop=crop)
    await media.wait_until_done([row], READY_TIMEOUT_S)
    row = await media.find_own(owner_id, row.id)
    if row.state != "ready":
        raise MediaInvalid({"file": _("The picture could not be prepared in time. Try again.")})
    return row.name


set_avatar, set_header = picture_view("avatar"), picture_view("header")
