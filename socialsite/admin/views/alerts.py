"""The page of alerts: what is wrong with the site, and how the viewer learns of it."""

from django.http import HttpResponse
from django.utils.translation import gettext as _
from msgspec import structs

from accounts.forms import parse_choice
from accounts.sessions.authentication import require_account
from socialsite.admin.presenters.dashboard import alert_rows
from socialsite.admin.requests import get_services
from socialsite.alerts.board import AlertRepository
from socialsite.ids import AccountId
from socialsite.web.requests import SiteRequest, get_form_data
from socialsite.web.responses import done, respond


async def index(request: SiteRequest) -> HttpResponse:
    services, account = get_services(request), require_account(request)
    id, chosen = AccountId(account.id), account.preferences
    board, mail = await AlertRepository(services.store).load(), await services.mail.find(id)
    devices = await services.repositories.push_subscriptions.find_all(id)
    return respond(
        request,
        "admin/alerts.html",
        page=lambda: {
            "alerts": alert_rows(board),
            "chosen": chosen,
            "choices": [("mail", _("Mail")), ("push", _("Notification in the browser")), ("none", _("Not at all"))],
            "has_address": bool(mail.address),
            "has_push": any(not device.sealed_token for device in devices.values()),
            "page_title": _("Alerts"),
        },
        data=lambda: {"alerts": alert_rows(board), "told_by": chosen.alerts, "summary": chosen.gets_summary},
    )


async def choose(request: SiteRequest) -> HttpResponse:
    """Store how the viewer learns of alerts. Raises FieldErrors."""
    account, fields = require_account(request), get_form_data(request)
    choice = parse_choice("alerts", fields.get("alerts"), ("mail", "push", "none"))
    chosen = await get_services(request).accounts.change_preferences(
        account_id=AccountId(account.id),
        change=lambda old: structs.replace(old, alerts=choice, gets_summary="summary" in fields),
    )
    return done(
        request,
        {"told_by": choice, "summary": chosen.gets_summary},
        default="/ops/alerts/",
        message=_("Your choices are saved."),
    )
