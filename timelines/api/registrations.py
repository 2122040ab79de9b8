"""Sign-up by an app (https://docs.joinmastodon.org/methods/accounts/#create)."""

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from accounts.errors import FieldErrors, HandleTaken
from accounts.forms import SignUpForm, validate_password_form
from accounts.joining.service import JoiningService
from accounts.oauth.views import token_response
from accounts.sessions.tokens import AccessTokenService
from socialsite.limits import ActionLimits
from socialsite.web.requests import SiteRequest
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields, flag

API_NAMES = {"handle": "username", "password1": "password", "password2": "password"}
"""Field of the sign-up page -> its name in the API."""


@sensitive_variables()
@endpoint("write:accounts", needs_token=True)
async def create(request: SiteRequest) -> HttpResponse:
    """Create an account, by the rules and limits of the sign-up page. Return an access token of the account.

    If staff has to approve the account, the token is valid from then on. The token of the request belongs to an app.
    The site has no use for an email address.
    """
    assert request.token is not None
    fields = api_fields(request)
    await request.services[ActionLimits].enforce(request.caller, "signup")
    if not flag(fields, "agreement"):
        raise FieldErrors({"agreement": _("The rules of the site must be accepted.")})
    password = fields.get("password", "")
    names = {"handle": fields.get("username", ""), "display_name": fields.get("display_name", "")}
    joining, code = request.services[JoiningService], fields.get("invite_code", "")
    await joining.check(code, names["handle"])
    try:
        form = SignUpForm({**names, "password1": password, "password2": password})
        valid = await validate_password_form(form, is_known=False)
        account = await joining.sign_up(
            handle=valid["handle"],
            password=valid["password1"],
            display_name=valid["display_name"],
            code=code,
            reason=fields.get("reason", ""),
            caller=request.caller,
        )
    except (FieldErrors, HandleTaken) as error:
        raise FieldErrors({API_NAMES.get(name, name): text for name, text in error.fields.items()}) from error
    grant = request.token.grant
    return token_response(request, await request.services[AccessTokenService].issue(account, grant), grant)
