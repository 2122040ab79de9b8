"""The views that save the profile of the viewer with its pictures, and that set and remove each picture."""

from http import HTTPStatus
from typing import NamedTuple

from django.contrib import messages
from django.core.files.base import File
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.domain import PictureKind, picture_url
from accounts.settings.views import bind_profile_form, edit_profile
from socialsite.web.requests import AsyncView, SiteRequest, get_form_data, require_viewer_id, wants_json
from socialsite.web.responses import SeeOther, done, page_response
from socialsite.web.uploads import accepts_files, get_files
from timelines.errors import MediaInvalid
from timelines.media.forms import parse_crop
from timelines.media.media import UPLOAD_MAX_BYTES, Crop
from timelines.media.service import MediaService
from timelines.media.views import check_upload

SETTINGS_PATH = "/accounts/settings/"
PROFILE_PICTURES: tuple[PictureKind, ...] = ("avatar", "header")


class FormPicture(NamedTuple):
    """The picture in a form that also has other fields. `content` is None if the picture is to be removed."""

    content: "File[bytes] | None"
    crop: Crop | None


@accepts_files(len(PROFILE_PICTURES) * UPLOAD_MAX_BYTES, check_upload)
async def save_profile(request: SiteRequest) -> HttpResponseBase:
    """Save the texts of the profile, and the pictures that the form of the page contains."""
    me, media = require_viewer_id(request), request.services[MediaService]
    for kind in PROFILE_PICTURES:
        try:
            if picture := await find_form_picture(request, kind):
                await media.set_profile_picture(account_id=me, kind=kind, content=picture.content, crop=picture.crop)
        except MediaInvalid as error:
            if wants_json(request):
                raise
            page = {"form": bind_profile_form(request), f"{kind}_error": describe_refusal(error)}
            return page_response(request, "accounts/settings.html", page, HTTPStatus.UNPROCESSABLE_ENTITY)
    return await edit_profile(request)


async def find_form_picture(request: SiteRequest, kind: str) -> FormPicture | None:
    """Return the picture from the fields `<kind>`, `<kind>_crop` and `remove_<kind>`, or None. Raises MediaInvalid."""
    fields, files = get_form_data(request), get_files(request, kind)
    if files:
        if request.pending_body is None:
            await check_upload(request)  # the handler has read a small body before this check
        return FormPicture(files[0], parse_crop({"crop": fields.get(f"{kind}_crop", "")}))
    return FormPicture(None, None) if f"remove_{kind}" in fields else None


def describe_refusal(error: MediaInvalid) -> str:
    return " ".join(map(str, error.fields.values())) or str(error.message)


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
            messages.error(request, describe_refusal(error))
            return SeeOther(SETTINGS_PATH)
        data, message = {kind: picture_url(name, "full") or None}, _("Your profile is saved.")
        return done(request, data, default=SETTINGS_PATH, message=message)

    return set_picture


async def find_picture(request: SiteRequest) -> "File[bytes] | None":
    """Return the uploaded file, or None if the picture is to be removed. Raises MediaInvalid."""
    if "remove" in get_form_data(request):
        return None
    if request.pending_body is None:
        await check_upload(request)  # the handler has read a small body before this check
    files = get_files(request, "file")
    if len(files) != 1:
        raise MediaInvalid({"file": _("Choose one picture.")})
    return files[0]


set_avatar, set_header = picture_view("avatar"), picture_view("header")
