"""Announcements of staff above home, and their dismissal, which the account stores."""

from functools import lru_cache

from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.translation import get_language
from msgspec import structs

from accounts.accounts.service import AccountService
from accounts.domain import Preferences
from accounts.models import Account
from accounts.sessions.authentication import require_account
from socialsite.errors import NotFound
from socialsite.ids import AccountId
from socialsite.site.announcements import Announcements, unread
from socialsite.site.service import SiteService
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest
from socialsite.web.responses import done
from timelines.pages.site_texts import text_html


def render_announcements(request: SiteRequest) -> Placeholder | str:
    """Return the current announcements that the viewer did not dismiss, or "". It reads nothing from the store."""
    stored = request.services[SiteService].announcements
    if not stored:
        return ""
    viewer = request.account
    dismissed = viewer.preferences.dismissed_announcements if isinstance(viewer, Account) else ()
    current = unread(stored, dismissed, request.services.clock.now_ms())
    return Placeholder(_render(current, viewer is not None, get_language() or "")) if current else ""


@lru_cache(maxsize=256)
def _render(shown: Announcements, can_dismiss: bool, language: str) -> str:
    """Render announcements. `language` is the active language, a part of the cache key."""
    items = [{"id": each.id, "html": text_html(each.text)} for each in shown]
    return render_to_string("timelines/_announcements.html", {"announcements": items, "can_dismiss": can_dismiss})


async def dismiss(request: SiteRequest, announcement_id: int) -> HttpResponseBase:
    await dismiss_for(request, announcement_id)
    return done(request, {"dismissed": announcement_id}, default="/")


async def dismiss_for(request: SiteRequest, announcement_id: int) -> None:
    """Store that the viewer dismissed an announcement. Ids of removed announcements are deleted. Raises NotFound."""
    account, stored = require_account(request), request.services[SiteService].announcements
    ids = {each.id for each in stored}
    if announcement_id not in ids:
        raise NotFound

    def dismiss(preferences: Preferences) -> Preferences:
        dismissed = {*preferences.dismissed_announcements, announcement_id} & ids
        return structs.replace(preferences, dismissed_announcements=tuple(sorted(dismissed)))

    await request.services[AccountService].change_preferences(account_id=AccountId(account.id), change=dismiss)
