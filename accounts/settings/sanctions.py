"""The page of the decisions of staff about the account, and the appeals."""

from django.http import HttpResponse
from django.middleware.csrf import get_token

from accounts.errors import FieldErrors
from accounts.sanctions.presenters import sanction_json, sanction_rows
from accounts.sanctions.sanction import SanctionId
from accounts.sanctions.service import SanctionRecords
from accounts.sessions.authentication import require_account
from socialsite.ids import AccountId, parse_id
from socialsite.web.middleware.errors import get_error_status
from socialsite.web.requests import SiteRequest, dispatch_by_method, get_form_data, wants_json
from socialsite.web.responses import done, page_response, respond

TEMPLATE = "accounts/sanctions.html"


async def sanctions_page(request: SiteRequest) -> HttpResponse:
    """Show the decisions, newest first. The notice about them ends."""
    sanctions = await request.services[SanctionRecords].open_all(AccountId(require_account(request).id))
    now_ms = request.services.clock.now_ms()
    get_token(request)
    return respond(
        request,
        TEMPLATE,
        page=lambda: {"rows": sanction_rows(sanctions, now_ms)},
        data=lambda: {"decisions": [sanction_json(each, now_ms) for each in sanctions]},
    )


async def appeal(request: SiteRequest) -> HttpResponse:
    """Store the appeal `text` of the decision `id`."""
    account_id, fields = AccountId(require_account(request).id), get_form_data(request)
    records, now_ms = request.services[SanctionRecords], request.services.clock.now_ms()
    id, text = SanctionId(parse_id(fields.get("id", "")) or 0), fields.get("text", "")
    try:
        sanction = await records.appeal(account_id, id, text, request.caller)
    except FieldErrors as error:
        if wants_json(request):
            raise
        rows = sanction_rows(await records.list_told(account_id), now_ms, (id, text, str(error.fields["text"])))
        return page_response(request, TEMPLATE, {"rows": rows}, get_error_status(error))
    return done(request, {"decision": sanction_json(sanction, now_ms)}, default=request.path)


sanctions = dispatch_by_method(GET=sanctions_page, POST=appeal)
