"""The page of the decisions of staff about the account, and the appeals."""

from django.http import HttpResponse
from django.middleware.csrf import get_token

from accounts.errors import FieldErrors
from accounts.sanctions.presenters import NO_APPEAL, sanction_json, sanction_rows
from accounts.sanctions.service import SanctionRecords
from accounts.sessions.suspend import parse_appeal
from socialsite.web.middleware.errors import get_error_status, shows_errors
from socialsite.web.requests import SiteRequest, dispatch_by_method, require_viewer_id
from socialsite.web.responses import done, respond


async def sanctions_page(request: SiteRequest, error: FieldErrors | None = None) -> HttpResponse:
    """Show the decisions, newest first. The notice about them ends. `error` belongs to the appeal that was sent."""
    sanctions = await request.services[SanctionRecords].open_all(require_viewer_id(request))
    now_ms = request.services.clock.now_ms()
    wrong = (*parse_appeal(request), str(error.fields["text"])) if error else NO_APPEAL
    get_token(request)
    return respond(
        request,
        "accounts/sanctions.html",
        page=lambda: {"rows": sanction_rows(sanctions, now_ms, wrong)},
        data=lambda: {"decisions": [sanction_json(each, now_ms) for each in sanctions]},
        status=get_error_status(error),
    )


@shows_errors(sanctions_page, FieldErrors)
async def appeal(request: SiteRequest) -> HttpResponse:
    """Store the appeal `text` of the decision `id`."""
    account_id, (id, text) = require_viewer_id(request), parse_appeal(request)
    sanction = await request.services[SanctionRecords].appeal(account_id, id, text, request.caller)
    data = {"decision": sanction_json(sanction, request.services.clock.now_ms())}
    return done(request, data, default=request.path)


sanctions = dispatch_by_method(GET=sanctions_page, POST=appeal)
