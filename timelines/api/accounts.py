"""Accounts in the API."""

from django.http import HttpResponse

from accounts.sessions.authentication import require_account
from socialsite.web.requests import SiteRequest
from socialsite.web.responses import json_response
from timelines.api.endpoint import endpoint


@endpoint("read:accounts", "profile", needs_account=True)
async def verify_credentials(request: SiteRequest) -> HttpResponse:
    """Return the account of the access token."""
    account = require_account(request)
    return json_response({"id": str(account.id), "username": account.handle, "acct": account.handle})
