"""The page on which people import an archive or a list of accounts."""

from collections import Counter
from collections.abc import Mapping
from typing import cast, get_args

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from socialsite.errors import ApiError
from socialsite.web.middleware.errors import get_error_status, shows_errors
from socialsite.web.requests import SiteRequest, get_form_data, require_viewer_id
from socialsite.web.responses import done, respond
from socialsite.web.uploads import accepts_files, get_files
from timelines.errors import ImportInvalid, TransfersCapReached, TransferUnderWay
from timelines.exporting.service import ExportService
from timelines.exporting.transfer import ImportContent, Transfer, TransferState
from timelines.exporting.views import percent_of, transfer_json
from timelines.importing.service import WITH_UNDO, ImportService
from timelines.pages.presenters import Json

IMPORT_URL = "/accounts/import/"
UPLOAD_DEADLINE_S = 120.0
"""The time in which a large file is parsed and stored, after it was received."""
CONTENT_LABELS: Mapping[ImportContent, Promise] = {
    "posts": _("Posts: an archive of this site, Mastodon, X or Bluesky"),
    "following": _("Followed accounts (CSV)"),
    "lists": _("Lists (CSV)"),
    "muted": _("Muted accounts (CSV)"),
    "blocked": _("Blocked accounts (CSV)"),
}
REASON_LABELS: Mapping[str, Promise] = {
    "boost": _("boosts of other people's posts"),
    "post_missing": _("likes, bookmarks and boosts of posts that you cannot read here"),
    "private_message": _("private messages"),
    "account": _("accounts that do not exist here"),
    "text_empty": _("posts without a text"),
    "text_too_long": _("posts that are too long"),
    "text_too_large": _("posts that are too long"),
    "in_the_future": _("posts with a date in the future"),
    "before_2000": _("posts with a date before 2000"),
    "blocked": _("posts with words or links that this site does not allow"),
    "limit": _("accounts beyond the daily limit of new accounts"),
    "repeated_id": _("posts that are twice in the file"),
    "picture_missing": _("pictures that are not in the file"),
    "picture_quota": _("pictures for which you have no room"),
}
OTHER_REASON = _("others that this site cannot read")
ERROR_LABELS: Mapping[str, Promise] = {
    "too_large": _("This file, or a part of it, is too large."),
    "restricted": _("Your account was restricted meanwhile. The rest was not imported."),
    "failed": _("The site could not finish this. What was imported until then can be undone."),
    "unknown_format": _("This is not an archive that this site can read."),
}
OTHER_ERROR = _("This file cannot be read. It may be damaged.")
FORMER_STATES: Mapping[TransferState, TransferState] = {"running": "failed", "importing": "ready", "undoing": "done"}
"""The states as which imports that have lost their job are shown, so that people can discard or repeat them."""


async def check_upload(request: SiteRequest) -> None:
    """Refuse an upload before its body is read. Raises SignInRequired."""
    require_viewer_id(request)


async def index(request: SiteRequest, error: ApiError | None = None) -> HttpResponse:
    imports = await request.services[ExportService].all(require_viewer_id(request), "import")
    return respond(
        request,
        "accounts/import.html",
        page=lambda: _context(request, imports, error),
        data=lambda: {"imports": [import_json(each) for each in imports]},
        status=get_error_status(error),
    )


@accepts_files(settings.IMPORT_MAX_BYTES, check_upload, deadline_s=UPLOAD_DEADLINE_S)
@shows_errors(index, ImportInvalid, TransferUnderWay, TransfersCapReached)
async def upload(request: SiteRequest) -> HttpResponseBase:
    """Store a file, and start its preview."""
    me, service = require_viewer_id(request), request.services[ImportService]
    content, files = get_form_data(request).get("content", "posts"), get_files(request, "file")
    if len(files) != 1 or content not in get_args(ImportContent):
        raise ImportInvalid
    transfer = await service.upload(
        me, files[0], cast(ImportContent, content), settings.SITE_URL, get_language() or "en", request.caller
    )
    return done(request, import_json(transfer), default=IMPORT_URL, status=202)


async def confirm(request: SiteRequest, transfer_id: int) -> HttpResponseBase:
    transfer = await request.services[ImportService].confirm(require_viewer_id(request), transfer_id)
    return done(request, import_json(transfer), default=IMPORT_URL, status=202)


async def undo(request: SiteRequest, transfer_id: int) -> HttpResponseBase:
    transfer = await request.services[ImportService].undo(require_viewer_id(request), transfer_id)
    return done(request, import_json(transfer), default=IMPORT_URL, status=202)


async def discard(request: SiteRequest, transfer_id: int) -> HttpResponseBase:
    await request.services[ImportService].discard(require_viewer_id(request), transfer_id)
    return done(request, {}, default=IMPORT_URL)


def import_json(transfer: Transfer) -> Json:
    more = {"name": transfer.title, "content": transfer.content, "error": transfer.error or None}
    return {**transfer_json(transfer), **more, "counts": transfer.counts, "refused": transfer.refused}


def _context(request: SiteRequest, imports: list[Transfer], error: ApiError | None) -> dict[str, object]:
    now_ms = request.services.clock.now_ms()
    return {
        "contents": CONTENT_LABELS.items(),
        "content": get_form_data(request).get("content", ""),
        "error": error.message if error else "",
        "is_running": any(each.is_running(now_ms) for each in imports),
        "imports": [
            {
                "transfer": each,
                "is_running": each.is_running(now_ms),
                "state": each.state if each.is_running(now_ms) else FORMER_STATES.get(each.state, each.state),
                "label": CONTENT_LABELS[each.content],
                "percent": percent_of(each),
                "can_undo": any(each.counts.get(kind) for kind in WITH_UNDO),
                "refused": sum(each.refused.values()),
                "reasons": _count_reasons(each.refused),
                "error": ERROR_LABELS.get(each.error, OTHER_ERROR),
            }
            for each in imports
        ],
    }


def _count_reasons(refused: Mapping[str, int]) -> list[tuple[Promise, int]]:
    """Return the reasons as people read them, and how many rows each has."""
    counts: Counter[Promise] = Counter()
    for code, count in refused.items():
        counts[REASON_LABELS.get(code, OTHER_REASON)] += count
    return list(counts.items())
