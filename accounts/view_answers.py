"""What the account views share: reading a form, showing it, showing it again with what was wrong."""

from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.http import HttpResponse
from django.middleware.csrf import get_token

from accounts.errors import FieldErrors, HandleTaken, InvalidCredentials
from accounts.models import Account
from socialsite.errors import ApiError
from socialsite.web.middleware.errors import get_error_status
from socialsite.web.requests import (
    SiteRequest,
    json_response,
    page_response,
    redirect_to_next,
    require_viewer,
    respond,
    wants_json,
)


def require_account(request: SiteRequest) -> Account:
    """Return the signed-in account. Raises SignInRequired."""
    account = require_viewer(request)
    assert isinstance(account, Account)
    return account


FORM_ERRORS = (FieldErrors, HandleTaken, InvalidCredentials)
"""What the reader can put right in the form they sent."""


def validate_form(form: forms.Form) -> dict[str, Any]:
    """The form's values. Raises FieldErrors with one text a field."""
    if form.is_valid():
        return form.cleaned_data
    raise FieldErrors({name: " ".join(map(str, texts)) for name, texts in form.errors.items()})


def render_form(
    request: SiteRequest, template: str, form: forms.Form, data: Callable[[], object] = dict
) -> HttpResponse:
    """A page with a form; in JSON what there is to say without it. Either brings the token."""
    get_token(request)
    return respond(request, template, page=lambda: {"form": form}, data=data)


def redisplay_form(request: SiteRequest, template: str, form: forms.Form, error: ApiError) -> HttpResponse:
    """The form as it was sent, with what was wrong; in JSON the error itself."""
    if wants_json(request):
        raise error
    wrong: Mapping[str, Any] = error.fields or {"": error.message}
    for name, message in wrong.items():
        if name not in form.errors:
            form.add_error(name if name in form.fields else None, str(message))
    return page_response(request, template, {"form": form}, get_error_status(error))


def action_response(request: SiteRequest, default: str, data: object, status: int = 200) -> HttpResponse:
    """After success: JSON, or 303 to the form's `next` or `default`."""
    return json_response(data, status) if wants_json(request) else redirect_to_next(request, default)
