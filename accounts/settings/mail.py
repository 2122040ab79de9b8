"""The pages of the mail address, and of forgotten passwords. A GET never has an effect: mail programs fetch links."""

from django import forms
from django.conf import settings
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_variables

from accounts.accounts.service import AccountService
from accounts.errors import FieldErrors, InvalidLink
from accounts.factors.step_up import require_step_up
from accounts.forms import (
    FORM_ERRORS,
    NewPasswordForm,
    make_address_field,
    make_new_password_field,
    make_repeat_field,
    parse_choice,
    redisplay_form,
    render_form,
    show_form,
    validate_form,
    validate_password_form,
)
from accounts.mail.links import parse_confirmation, parse_unsubscribe
from accounts.mail.presenters import DIGEST_LABELS, mails_json, mails_page
from accounts.mail.service import MailService
from accounts.mail.values import DIGESTS
from socialsite.errors import Conflict
from socialsite.web.middleware.errors import get_error_status, shows_errors
from socialsite.web.requests import (
    SiteRequest,
    dispatch_by_method,
    get_form_data,
    get_viewer_id,
    require_viewer_id,
    wants_json,
)
from socialsite.web.responses import done, get_site, json_response, page_response

MAIL_PATH = "/accounts/mail/"


class AddressForm(forms.Form):
    address = make_address_field()


class ForgottenPasswordForm(forms.Form):
    address = make_address_field(gettext_lazy("The address that you confirmed for your account."))


class ResetPasswordForm(NewPasswordForm):
    token = forms.CharField(widget=forms.HiddenInput)
    password1 = make_new_password_field(gettext_lazy("New password"))
    password2 = make_repeat_field(gettext_lazy("New password again"))


# The address


async def mail_page(request: SiteRequest, error: FieldErrors | None = None) -> HttpResponse:
    account_id, service = require_viewer_id(request), request.services[MailService]
    row, mails = await service.find(account_id), await service.list_mails(account_id)
    page = {"row": row, "mails": mails_page(mails), "digests": DIGEST_LABELS, "is_required": settings.MAIL_REQUIRED}
    addresses = {"address": row.address or None, "pending": row.pending or None}
    data = {**addresses, "digest": row.digest, "mails": mails_json(mails)}
    return show_form(request, "accounts/mail.html", AddressForm, error, page, data=lambda: data)


@shows_errors(mail_page, FieldErrors)
async def change_address(request: SiteRequest) -> HttpResponse:
    """Send a mail to confirm the submitted address. The confirmed address stays until then."""
    require_step_up(request)
    account_id, address = require_viewer_id(request), validate_form(AddressForm(get_form_data(request)))["address"]
    await request.services[MailService].request_address(account_id, address, request.caller)
    message = _("A mail was sent to %s. Open its link to confirm the address.") % address
    return done(request, {"pending": address}, default=MAIL_PATH, message=message)


async def remove_address(request: SiteRequest) -> HttpResponse:
    require_step_up(request)
    account_id = require_viewer_id(request)
    if settings.MAIL_REQUIRED:
        raise Conflict(_("This site needs a mail address. You can change it."))
    await request.services[MailService].remove_address(account_id, request.caller)
    return done(request, {}, default=MAIL_PATH, message=_("Your mail address is removed."))


async def choose_digest(request: SiteRequest) -> HttpResponse:
    account_id, digest = require_viewer_id(request), get_form_data(request).get("digest", "")
    await request.services[MailService].choose_digest(account_id, parse_choice("digest", digest, DIGESTS))
    return done(request, {"digest": digest}, default=MAIL_PATH, message=_("Your choices are saved."))


# The links of mails. Each page has a button, because a program that reads mails may fetch the page.


async def confirmation_page(request: SiteRequest) -> HttpResponse:
    """Name the account, because anybody can let the site send this link to the address of another person."""
    account_id, address = parse_confirmation(request.GET.get("token", ""))
    account = await request.services[AccountService].get_undeleted(account_id)
    names = {"handle": account.handle, "site": get_site(request).title}
    owner = _("The account @%(handle)s on %(site)s wants to use this address.") % names
    lead = f"{owner} {_('Use %s for your account?') % address}"
    return _link_page(request, _("Confirm your mail address"), lead, _("Confirm the address"))


async def confirm_address(request: SiteRequest) -> HttpResponse:
    token = get_form_data(request).get("token", "")
    account_id, address = await request.services[MailService].confirm_address(token, request.caller)
    url = MAIL_PATH if get_viewer_id(request) == account_id else "/"
    return done(request, {"address": address}, default=url, message=_("Your mail address is confirmed."))


@csrf_exempt
async def unsubscribe_page(request: SiteRequest) -> HttpResponse:
    parse_unsubscribe(request.GET.get("token", ""))
    return _link_page(request, _("Unsubscribe"), _("Get no more summaries by mail?"), _("Unsubscribe"))


@csrf_exempt
async def unsubscribe(request: SiteRequest) -> HttpResponse:
    """Switch off the digests. A mail program posts to the address of the header, without a cookie.

    Its response is no redirect (RFC 8058, 3.1).
    """
    fields = get_form_data(request)
    account_id = parse_unsubscribe(request.GET.get("token") or fields.get("token", ""))
    await request.services[MailService].choose_digest(account_id, "off")
    if "List-Unsubscribe" in fields:
        return json_response({})
    return done(request, {}, default="/", message=_("You get no more summaries by mail."))


def _link_page(request: SiteRequest, title: str, lead: str, button: str) -> HttpResponse:
    """Return a page whose button posts the token of the link to the same address."""
    get_token(request)
    page = {"title": title, "lead": lead, "button": button, "token": request.GET["token"], "action": request.path}
    return page_response(request, "accounts/mail_link.html", page)


# Forgotten passwords


async def forgotten_page(request: SiteRequest, error: FieldErrors | None = None) -> HttpResponse:
    return show_form(request, "accounts/reset.html", ForgottenPasswordForm, error, {})


@shows_errors(forgotten_page, FieldErrors)
async def request_reset(request: SiteRequest) -> HttpResponse:
    """Respond in the same way and the same time whether or not an account has the address."""
    address = validate_form(ForgottenPasswordForm(get_form_data(request)))["address"]
    await request.services[MailService].request_reset(address, request.caller)
    if wants_json(request):
        return done(request, {}, default="/")
    return page_response(request, "accounts/reset_requested.html", {})


async def _refuse_reset(request: SiteRequest, error: InvalidLink) -> HttpResponse:
    """Show the form that sends a new link, with the reason."""
    get_token(request)
    page = {"form": ForgottenPasswordForm(), "refusal": error.message}
    return page_response(request, "accounts/reset.html", page, get_error_status(error))


@shows_errors(_refuse_reset, InvalidLink)
async def reset_page(request: SiteRequest) -> HttpResponse:
    token = request.GET.get("token", "")
    await request.services[MailService].find_reset_account(token)
    return render_form(request, "accounts/reset_password.html", ResetPasswordForm(initial={"token": token}))


@shows_errors(_refuse_reset, InvalidLink)
@sensitive_variables()
async def reset_password(request: SiteRequest) -> HttpResponse:
    """Change the password and end all sessions. The log-in still requires the second factor."""
    form = ResetPasswordForm(get_form_data(request))
    account = await request.services[MailService].find_reset_account(form.data.get("token", ""))
    try:
        password = (await validate_password_form(form, account, is_known=False))["password1"]
    except FORM_ERRORS as error:
        return redisplay_form(request, "accounts/reset_password.html", form, error)
    try:
        await request.services[AccountService].reset_password(account=account, new=password, caller=request.caller)
    except FieldErrors:  # the link was used by another request meanwhile
        raise InvalidLink from None
    return done(request, {}, default=settings.LOGIN_URL, message=_("Your password is changed. You can log in now."))


address = dispatch_by_method(GET=mail_page, POST=change_address)
remove = dispatch_by_method(POST=remove_address)
digest = dispatch_by_method(POST=choose_digest)
confirm = dispatch_by_method(GET=confirmation_page, POST=confirm_address)
stop = dispatch_by_method(GET=unsubscribe_page, POST=unsubscribe)
forgotten = dispatch_by_method(GET=forgotten_page, POST=request_reset)
reset = dispatch_by_method(GET=reset_page, POST=reset_password)
