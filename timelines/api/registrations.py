"""Sign-up by an app (https://docs.joinmastodon.org/methods/accounts/#create)."""

from contextlib import suppress

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from accounts.accounts.service import AccountService
from accounts.accounts.validation import parse_new_handle
from accounts.errors import FieldErrors, HandleTaken
from accounts.forms import SignUpForm, validate_password_form
from accounts.joining.service import JoiningService
from accounts.mail.service import MailService
from accounts.oauth.views import token_response
from accounts.sessions.tokens import AccessTokenService
from socialsite.errors import LazyText
from socialsite.ids import AccountId
from socialsite.limits import ActionLimits
from socialsite.store.errors import StoreError
from socialsite.web.requests import SiteRequest
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields, flag

API_NAMES = {"handle": "username", "password1": "password", "password2": "password", "address": "email"}
"""Field of the sign-up page -> its name in the API. The other names are equal."""
CODES = {
    "required": "ERR_BLANK", "reserved": "ERR_RESERVED", "max_length": "ERR_TOO_LONG", "too_long": "ERR_TOO_LONG",
    "min_length": "ERR_TOO_SHORT", "password_too_short": "ERR_TOO_SHORT",
}  # fmt: skip
"""Code of a fault of the sign-up page -> its code in the API. The others are ERR_INVALID."""
TAKEN = ("ERR_TAKEN", HandleTaken.message)
Faults = dict[str, list[tuple[str, LazyText]]]


@sensitive_variables()
@endpoint("write:accounts", needs_token=True)
async def create(request: SiteRequest) -> HttpResponse:
    """Create an account, by the rules and limits of the sign-up page. Return an access token of the account.

    If staff has to approve the account, its token is invalid until then. The token of the request belongs to an app.
    """
    assert request.token is not None
    fields, services = api_fields(request), request.services
    await services[ActionLimits].enforce(request.caller, "signup")
    joining, code = services[JoiningService], fields.get("invite_code", "")
    await joining.check(code, fields.get("username", ""))
    typed = {name: fields.get(API_NAMES.get(name, name), "") for name in SignUpForm.base_fields}
    form = SignUpForm(typed, asks_reason=joining.asks_reason(code))
    await _check(request, form)
    valid = form.cleaned_data
    try:
        account = await joining.sign_up(
            handle=valid["handle"],
            password=valid["password1"],
            display_name=valid["display_name"],
            code=code,
            reason=valid.get("reason", ""),
            address=valid["address"],
            caller=request.caller,
        )
    except HandleTaken as error:
        raise _refusal({"username": [TAKEN]}) from error
    except FieldErrors as error:  # all other errors are about words that staff blocked
        raise _refusal(
            {API_NAMES.get(name, name): [("ERR_BLOCKED", text)] for name, text in error.fields.items()}
        ) from error
    if valid["address"]:
        with suppress(StoreError):  # the account exists, and its page of mail can send the mail again
            await services[MailService].request_address(AccountId(account.id), valid["address"], None)
    grant = request.token.grant
    return token_response(request, await services[AccessTokenService].issue(account, grant), grant)


async def _check(request: SiteRequest, form: SignUpForm) -> None:
    """Raise FieldErrors with the faults of all fields."""
    faults: Faults = {}
    with suppress(FieldErrors):
        await validate_password_form(form, is_known=False)
    for name, errors in form.errors.as_data().items():
        if name != "password2":
            faults[API_NAMES.get(name, name)] = [
                (CODES.get(each.code or "", "ERR_INVALID"), each.messages[0]) for each in errors
            ]
    if not flag(api_fields(request), "agreement"):
        faults["agreement"] = [("ERR_ACCEPTED", _("The rules of the site must be accepted."))]
    accounts = request.services[AccountService].accounts
    if "username" not in faults and await accounts.is_handle_claimed(parse_new_handle(form.cleaned_data["handle"])):
        faults["username"] = [TAKEN]
    if faults:
        raise _refusal(faults)


def _refusal(faults: Faults) -> FieldErrors:
    error = FieldErrors({name: " ".join(str(text) for _code, text in each) for name, each in faults.items()})
    error.details = faults
    return error
