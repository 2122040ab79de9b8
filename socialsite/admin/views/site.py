"""The page of the site's settings, and the style sheet of its accent colour."""

import re

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.forms import parse_choice
from accounts.models import Account
from accounts.roles import has_right
from socialsite.admin.errors import MissingRight
from socialsite.admin.labels import JsonObject
from socialsite.admin.requests import record_action
from socialsite.admin.site_forms import GROUPS, SiteForm, describe_variable
from socialsite.errors import Invalid
from socialsite.site.accent import accent_css
from socialsite.site.service import SiteService
from socialsite.site.settings import FIELDS, LIST_SIZES, SetByEnvironment
from socialsite.web.requests import SiteRequest, get_form_data, wants_json
from socialsite.web.responses import done, json_response, page_response
from socialsite.web.uploads import accepts_files
from timelines.errors import MediaInvalid, MediaNotFound
from timelines.media.forms import parse_crop
from timelines.media.media import UPLOAD_MAX_BYTES, MediaSize
from timelines.media.service import MediaService
from timelines.media.views import check_upload, file
from timelines.profiles.pictures import find_picture

SITE_PATH = "/ops/site/"
COLOUR = re.compile("[0-9a-f]{6}")
CSS_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Security-Policy": "sandbox; default-src 'none'",  # as for pictures: HeadersMiddleware keeps the caching
}


async def change(request: SiteRequest) -> HttpResponse:
    """Change the fields of one group, or with JSON the fields that are sent. The audit log has their names."""
    site, fields = request.services[SiteService], get_form_data(request)
    group = fields.get("group", "")
    if not wants_json(request):
        parse_choice("group", group, GROUPS)
    names = GROUPS[group][1] if group in GROUPS else tuple(name for name in FIELDS if name in fields)
    if group not in GROUPS and site.from_environment.intersection(names):
        raise SetByEnvironment
    lines = {name: "\n".join(fields.values_of(name)) if name in LIST_SIZES else fields[name] for name in fields}
    form = SiteForm(names, site.settings, site.from_environment, lines)
    if form.is_valid() and (changes := form.changes()):
        try:
            site.check(changes)
            await record_action(request, "site", "site:settings", ", ".join(changes))
            await site.change(**changes)
        except Invalid as error:
            for name, message in error.fields.items():
                form.add_error(name, str(message))
    if form.errors:
        if wants_json(request):
            raise Invalid({name: str(texts[0]) for name, texts in form.errors.items()})
        return await show(request, {group: form}, 422)
    return done(request, _settings_json(site), default=f"{SITE_PATH}#{group}", message=_("Saved."))


async def show(
    request: SiteRequest, wrong: dict[str, SiteForm] | None = None, status: int = 200, logo_error: str = ""
) -> HttpResponse:
    site = request.services[SiteService]
    if wants_json(request):
        return json_response(_settings_json(site))
    groups = [
        {
            "name": name,
            "title": title,
            "form": (wrong or {}).get(name) or SiteForm(names, site.settings, site.from_environment),
            "is_editable": not site.from_environment.issuperset(names),
        }
        for name, (title, names) in GROUPS.items()
    ]
    page = {
        "groups": groups,
        "logo_error": logo_error,
        "logo_note": describe_variable("logo") if "logo" in site.from_environment else "",
        "page_title": _("Your site"),
    }
    return page_response(request, "ops/site.html", page, status)


def _settings_json(site: SiteService) -> JsonObject:
    return {
        **{name: getattr(site.settings, name) for name in FIELDS},
        "from_environment": sorted(site.from_environment),
    }


async def _check_logo(request: SiteRequest) -> None:
    """Refuse an upload of others before its body is read."""
    account = request.account
    if not isinstance(account, Account) or not has_right(account, "site"):
        raise MissingRight
    await check_upload(request)


@accepts_files(UPLOAD_MAX_BYTES, _check_logo)
async def set_logo(request: SiteRequest) -> HttpResponseBase:
    """Replace the logo by `file`, or remove it (`remove`). A refusal is shown beside the picture."""
    try:
        request.services[SiteService].check({"logo": ""})
        picture, crop = await find_picture(request), parse_crop(get_form_data(request))
        await record_action(request, "site", "site:settings", "logo")
        await request.services[MediaService].set_logo(picture, crop)
    except MediaInvalid as error:
        if wants_json(request):
            raise
        return await show(request, status=422, logo_error=str(next(iter(error.fields.values()), error.message)))
    settings_json = _settings_json(request.services[SiteService])
    return done(request, settings_json, default=f"{SITE_PATH}#looks", message=_("Saved."))


async def serve_logo(request: SiteRequest, logo: str, size: MediaSize) -> HttpResponseBase:
    """Send the logo, which visitors of a members-only site see, too. No other picture has this address."""
    if logo != request.services[SiteService].settings.logo:
        raise MediaNotFound
    return await file(request, logo, size, "webp")


async def accent(request: SiteRequest, colour: str) -> HttpResponse:
    """Serve the style sheet of a colour of six hex digits. Its address contains the colour, so browsers keep it."""
    if not COLOUR.fullmatch(colour):
        raise Http404
    return HttpResponse(accent_css(colour), content_type="text/css; charset=utf-8", headers=CSS_HEADERS)
