"""The page on which people export their account, and the download."""

from django.conf import settings
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import get_language

from accounts.factors.step_up import require_step_up
from accounts.security.events import SecurityEvents
from accounts.sessions.authentication import require_account
from socialsite.ids import AccountId
from socialsite.web.requests import SiteRequest, require_viewer_id
from socialsite.web.responses import done, format_iso_time, respond, select_fields
from timelines.exporting.service import ExportService
from timelines.exporting.transfer import Transfer
from timelines.pages.presenters import Json

ARCHIVE_URL = "/accounts/archive/"


async def index(request: SiteRequest) -> HttpResponseBase:
    exports = await request.services[ExportService].all(require_viewer_id(request), "export")
    export = exports[0] if exports else None
    return respond(
        request,
        "accounts/archive.html",
        page=lambda: _context(request, export),
        data=lambda: {"archive": None if export is None else transfer_json(export)},
    )


async def start(request: SiteRequest) -> HttpResponseBase:
    """Request an archive, after the viewer has given the password or a factor lately."""
    require_step_up(request)
    me, services = require_viewer_id(request), request.services
    export = await services[ExportService].request(me, settings.SITE_URL, get_language() or "en", request.caller)
    await services[SecurityEvents].record(me, "archive_requested", request.caller)
    return done(request, {"archive": transfer_json(export)}, default=ARCHIVE_URL, status=202)


async def download(request: SiteRequest, transfer_id: int) -> HttpResponseBase:
    """Send the archive to its owner, who has given the password or a factor lately. No cache stores it."""
    require_step_up(request)
    account, exports = require_account(request), request.services[ExportService]
    export = await exports.find(AccountId(account.id), transfer_id, "export")
    name = f"{account.handle}-{format_iso_time(export.changed_ms)[:10]}.zip"
    headers = {
        "Content-Type": "application/zip",
        "Content-Length": str(export.size_bytes),
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "private, no-store",
    }
    return StreamingHttpResponse(await exports.open(AccountId(account.id), export), headers=headers)


def percent_of(transfer: Transfer) -> int | None:
    return min(99, 100 * transfer.done // transfer.total) if transfer.total else None


def transfer_json(transfer: Transfer) -> Json:
    """Return an export or import. `total` is 0 while it is not known."""
    return select_fields(transfer, "id state done total changed_at expires_at", size=transfer.size_bytes)


def _context(request: SiteRequest, export: Transfer | None) -> dict[str, object]:
    return {
        "export": export,
        "percent": percent_of(export) if export else None,
        "is_running": export is not None and export.is_running(request.services.clock.now_ms()),
        "keep_days": settings.ARCHIVE_KEEP_DAYS,
    }
