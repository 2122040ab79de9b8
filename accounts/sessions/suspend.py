"""What a suspended person sees after the right password (and factor): the decisions, and an appeal, without a session.

A signed token that expires soon replaces the log-in. A change of the password ends it.
"""

from http import HTTPStatus
from typing import Final

from django.core import signing
from django.http import HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

from accounts.accounts.service import AccountService
from accounts.domain import NO_ACCOUNT_ID, SUSPENDED
from accounts.errors import AccountSuspended, FieldErrors
from accounts.mail.links import load_signed
from accounts.models import Account
from accounts.sanctions.presenters import NO_APPEAL, WrongAppeal, sanction_rows
from accounts.sanctions.sanction import SanctionId
from accounts.sanctions.service import SanctionRecords
from socialsite.errors import SignInRequired
from socialsite.ids import AccountId, parse_id
from socialsite.web.requests import SiteRequest, get_form_data, wants_json
from socialsite.web.responses import page_response

SALT: Final = "accounts.sessions.suspended"
TOKEN_MAX_AGE_S: Final = 30 * 60


def _password_digest(account: Account) -> str:
    return salted_hmac(SALT, account.password, algorithm="sha256").hexdigest()[:32]


async def _find_account(request: SiteRequest, token: str) -> Account:
    """Return the suspended account of a token. Raises SignInRequired."""
    id, digest = load_signed(token, SALT, TOKEN_MAX_AGE_S) or (NO_ACCOUNT_ID, "")
    account = await request.services[AccountService].find(AccountId(id))
    if account is None or account.state != SUSPENDED or not constant_time_compare(digest, _password_digest(account)):
        raise SignInRequired
    return account


async def show_suspension(
    request: SiteRequest, account: Account, wrong: WrongAppeal = NO_APPEAL, *, is_sent: bool = False
) -> HttpResponse:
    """Return the page of a suspended account. A JSON client gets AccountSuspended."""
    if wants_json(request):
        raise AccountSuspended
    sanctions = await request.services[SanctionRecords].open_all(AccountId(account.id))
    page = {
        "rows": sanction_rows(sanctions, request.services.clock.now_ms(), wrong),
        "token": signing.dumps([account.id, _password_digest(account)], salt=SALT),
        "is_sent": is_sent,
    }
    status = HTTPStatus.OK if is_sent else HTTPStatus.UNAUTHORIZED
    return page_response(request, "accounts/suspended.html", page, status)


def parse_appeal(request: SiteRequest) -> tuple[SanctionId, str]:
    fields = get_form_data(request)
    return SanctionId(parse_id(fields.get("id", "")) or 0), fields.get("text", "")


async def appeal_suspended(request: SiteRequest) -> HttpResponse:
    """Store an appeal of a suspended account. Raises SignInRequired, SanctionNotFound, AppealNotPossible."""
    account = await _find_account(request, get_form_data(request).get("token", ""))
    id, text = parse_appeal(request)
    try:
        await request.services[SanctionRecords].appeal(AccountId(account.id), id, text, request.caller)
    except FieldErrors as error:
        return await show_suspension(request, account, (id, text, str(error.fields["text"])))
    return await show_suspension(request, account, is_sent=True)
