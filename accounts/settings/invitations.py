"""The page of an account's invitations: links, who used them, a new one, the end of one."""

from django.http import HttpResponse
from django.utils.translation import gettext as _

from accounts.errors import FieldErrors
from accounts.forms import InvitationForm, show_form, validate_form
from accounts.joining.presenters import invitations_json, invitations_page
from accounts.joining.service import JoiningService
from accounts.joining.values import INVITATIONS_CAP
from accounts.models import Account
from accounts.sessions.authentication import require_account
from socialsite.errors import Forbidden, NotFound
from socialsite.ids import AccountId
from socialsite.site.service import SiteService
from socialsite.web.middleware.errors import shows_errors
from socialsite.web.requests import SiteRequest, counted, dispatch_by_method, get_form_data, writing
from socialsite.web.responses import done

TEMPLATE, PATH = "accounts/invitations.html", "/accounts/invitations/"


async def index_page(request: SiteRequest, error: FieldErrors | None = None) -> HttpResponse:
    account, services = _require_inviter(request), request.services
    stored = await services[JoiningService].invitations(AccountId(account.id))
    now_ms, site_url = services.clock.now_ms(), f"{request.site_url}/"
    rows = invitations_page(stored, AccountId(account.id), site_url, now_ms)
    page = {"invitations": rows, "cap": INVITATIONS_CAP}
    data = lambda: {"invitations": invitations_json(rows)}  # noqa: E731
    return show_form(request, TEMPLATE, InvitationForm, error, page, data=data)


@shows_errors(index_page, FieldErrors)
async def invite(request: SiteRequest) -> HttpResponse:
    account, fields = _require_inviter(request), validate_form(InvitationForm(get_form_data(request)))
    code = await request.services[JoiningService].invite(account, **fields)
    message = _("The invitation is made. Send its link to the people whom you invite.")
    url = f"{request.site_url}/invite/{code}/"
    return done(request, {"url": url}, default=PATH, status=201, message=message)


async def end_invitation(request: SiteRequest) -> HttpResponse:
    account, secret = require_account(request), get_form_data(request).get("invitation", "")
    if not await request.services[JoiningService].end_invitation(AccountId(account.id), secret):
        raise NotFound
    return done(request, {}, default=PATH, message=_("The invitation has ended."))


def _require_inviter(request: SiteRequest) -> Account:
    """Return the account if it may invite. Raises Forbidden, SignInRequired."""
    account = require_account(request)
    if request.services[JoiningService].may_invite(account):
        return account
    if not request.services[SiteService].settings.members_invite:
        raise Forbidden(_("Only the people who run this site invite others."))
    raise Forbidden  # staff has limited or silenced the account


index = dispatch_by_method(GET=index_page, POST=counted("list", writing(invite)))
end = dispatch_by_method(POST=counted("list", end_invitation))
