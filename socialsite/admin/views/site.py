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
from timelines.profiles.pictures import describe_refusal, find_form_picture, find_picture

SITE_PATH = "/ops/site/"
ALL_GROUPS = "all"
COLOUR = re.compile("[0-9a-f]{6}")
CSS_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Security-Policy": "sandbox; default-src 'none'",  # HeadersMiddleware then keeps the caching headers
}


async def _check_logo(request: SiteRequest) -> None:
    """Refuse an upload of others before its body is read."""
    account = request.account
    if not isinstance(account, Account) or not has_right(account, "site"):
        raise MissingRight
    await check_upload(request)


@accepts_files(UPLOAD_MAX_BYTES, _check_logo)
async def change(request: SiteRequest) -> HttpResponseBase:
    """Change all fields and the logo, the fields of one group, or with JSON the fields that are sent.

    The audit log has the names of the changed fields.
    """
    site, group = request.services[SiteService], get_form_data(request).get("group", "")
    forms, logo_error = _bind_forms(request, group), ""
    if not any(form.errors for form in forms.values()):
        changes = {name: value for form in forms.values() for name, value in form.changes().items()}
        try:
            logo = await find_form_picture(request, "logo")
            site.check({**changes, **({"logo": ""} if logo else {})})
            if changed_names := [*changes, *(["logo"] if logo else [])]:
                await record_action(request, "site", "site:settings", ", ".join(changed_names))
            if logo:
                await request.services[MediaService].set_logo(logo.content, logo.crop)
            if changes:
                await site.change(**changes)
        except MediaInvalid as error:
            logo_error = describe_refusal(error)
        except Invalid as error:
            for name, message in error.fields.items():
                next(form for form in forms.values() if name in form.fields).add_error(name, str(message))
    errors = {name: str(texts[0]) for form in forms.values() for name, texts in form.errors.items()}
    if errors and wants_json(request):
        raise Invalid(errors)
    if errors or logo_error:
        return await show(request, forms, 422, logo_error)
    anchor = f"#{group}" if group in GROUPS else ""
    return done(request, _settings_json(site), default=f"{SITE_PATH}{anchor}", message=_("Saved."))


def _bind_forms(request: SiteRequest, group: str) -> dict[str, SiteForm]:
    """Return the form of each group that was sent. JSON without a group is one form of the fields that it has."""
    site, fields = request.services[SiteService], get_form_data(request)
    lines = {name: "\n".join(fields.values_of(name)) if name in LIST_SIZES else fields[name] for name in fields}
    if wants_json(request) and group not in GROUPS:
        names = tuple(name for name in FIELDS if name in fields)
        if site.from_environment.intersection(names):
            raise SetByEnvironment
        return {"": SiteForm(names, site.settings, site.from_environment, lines)}
    parse_choice("group", group, (*GROUPS, ALL_GROUPS))
    sent_groups = GROUPS if group == ALL_GROUPS else (group,)
    return {each: SiteForm(GROUPS[each][1], site.settings, site.from_environment, lines) for each in sent_groups}


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
        }
        for name, (title, names) in GROUPS.items()
    ]
    page = {
        "groups": groups,
        "logo_error": logo_error,
        "logo_note": describe_variable("logo") if "logo" in site.from_environment else "",
        "page_title": _("Your site"),
    }
    return page_response(request, "admin/site.html", page, status)


def _settings_json(site: SiteService) -> JsonObject:
    return {
        **{name: getattr(site.settings, name) for name in FIELDS},
        "from_environment": sorted(site.from_environment),
    }


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
        return await show(request, status=422, logo_error=describe_refusal(error))
    settings_json = _settings_json(request.services[SiteService])
    return done(request, settings_json, default=f"{SITE_PATH}#looks", message=_("Saved."))


async def serve_logo(request: SiteRequest, logo: str, size: MediaSize) -> HttpResponseBase:
    """Send the logo, also to visitors of a members-only site. No other picture has this address."""
    if logo != request.services[SiteService].settings.logo:
        raise MediaNotFound
    return await file(request, logo, size, "webp")


async def accent(request: SiteRequest, colour: str) -> HttpResponse:
    """Serve the style sheet of a colour of six hex digits. Its address contains the colour, so browsers keep it."""
    if not COLOUR.fullmatch(colour):
        raise Http404
    return HttpResponse(accent_css(colour), content_type="text/css; charset=utf-8", headers=CSS_HEADERS)
