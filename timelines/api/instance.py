"""The site itself in the API, and the announcements of its staff."""

import re

from django.conf import settings
from django.utils.translation import gettext as _

from accounts.accounts.service import AccountService
from accounts.sessions.authentication import require_account
from socialsite import __version__
from socialsite.concurrency import run_together
from socialsite.languages import LANGUAGE_NAMES
from socialsite.site.service import SiteService
from socialsite.site.settings import SiteSettings
from socialsite.web.cache import get_or_compute
from socialsite.web.requests import SiteRequest
from socialsite.web.responses import format_iso_time, get_site
from timelines.api.endpoint import endpoint
from timelines.api.entities import instance
from timelines.api.entities.account import default_visibility
from timelines.api.fields import api_fields, flag
from timelines.home_page.announcements import dismiss_for
from timelines.pages.presenters import Json
from timelines.pages.site_texts import TEXTS_WRITTEN_MS, SiteText, site_text_html
from timelines.push.service import PushService

FIGURES_TTL_S, ACTIVITY_TTL_S = 60.0, 3_600.0
WEEKS_OF_ACTIVITY = 12
NODEINFO_SCHEMA = "http://nodeinfo.diaspora.software/ns/schema/2.0"


@endpoint(None)
async def show(request: SiteRequest) -> Json:
    key = await request.services[PushService].public_key()
    return instance.instance_entity(_site_info(request), await _read_figures(request), key)


@endpoint(None)
async def show_v1(request: SiteRequest) -> Json:
    return instance.instance_v1_entity(_site_info(request), await _read_figures(request))


@endpoint(None)
async def languages(request: SiteRequest) -> list[Json]:
    return [{"code": code, "name": name} for code, name in LANGUAGE_NAMES.items()]


@endpoint(None)
async def extended_description(request: SiteRequest) -> Json:
    return _text_json(request, "about")


@endpoint(None)
async def privacy_policy(request: SiteRequest) -> Json:
    return _text_json(request, "privacy")


@endpoint(None)
async def terms_of_service(request: SiteRequest) -> Json:
    text = _text_json(request, "terms")
    day = text.pop("updated_at")[:10]
    return {**text, "effective_date": day, "effective": True, "succeeded_by": None}


def _text_json(request: SiteRequest, name: SiteText) -> Json:
    site = get_site(request)
    changed_ms = getattr(site, f"{name}_ms") or TEXTS_WRITTEN_MS
    return {"updated_at": format_iso_time(changed_ms), "content": site_text_html(site, name) + ""}


@endpoint(None)
async def rules(request: SiteRequest) -> list[Json]:
    return instance.rule_entities(get_site(request))


@endpoint(None)
async def activity(request: SiteRequest) -> list[Json]:
    """Return the activity of the last weeks, at most an hour old."""

    async def read() -> list[Json]:
        stats, now_ms = request.services.statistics.stats, request.services.clock.now_ms()
        weeks = await stats.weekly_activity(WEEKS_OF_ACTIVITY, now_ms=now_ms)
        return [
            {"week": str(week.start_ms // 1000), "statuses": str(week.posts), "logins": str(week.active),
             "registrations": str(week.signups)}
            for week in weeks
        ]  # fmt: skip

    return await get_or_compute("activity", list[Json], ACTIVITY_TTL_S, read)


@endpoint("read:accounts", needs_account=True)
async def preferences(request: SiteRequest) -> Json:
    """Return the choices of the account for reading and writing posts."""
    account = require_account(request)
    chosen = account.preferences
    return {
        "posting:default:visibility": default_visibility(account),
        "posting:default:sensitive": chosen.marks_sensitive,
        "posting:default:language": chosen.language,
        "posting:default:quote_policy": chosen.quote_policy,
        "reading:expand:media": "default",
        "reading:expand:spoilers": chosen.opens_warnings,
        "reading:autoplay:gifs": False,
    }


@endpoint(None)
async def nodeinfo_links(request: SiteRequest) -> Json:
    """Name the address of the node information (https://nodeinfo.diaspora.software/)."""
    return {"links": [{"rel": NODEINFO_SCHEMA, "href": f"{request.site_url}/nodeinfo/2.0"}]}


@endpoint(None)
async def nodeinfo(request: SiteRequest) -> Json:
    """Return the node information. `upstream` names Mastodon for clients that do not know this software."""
    figures, site = await _read_figures(request), get_site(request)
    usage = {"users": {"total": figures.accounts, "activeMonth": figures.active_month}, "localPosts": figures.posts}
    if site.members_only and request.account is None:
        usage = {"users": {}}
    return {
        "version": "2.0",
        "software": {"name": "socialsite", "version": __version__},
        "protocols": [],
        "services": {"inbound": [], "outbound": ["atom1.0"]},
        "openRegistrations": site.joining in instance.OPEN_MODES,
        "usage": usage,
        "metadata": {"nodeName": site.title, "nodeDescription": _description(site), "upstream": {"name": "mastodon"}},
    }


# Announcements of staff


@endpoint("read", "read:accounts", "write:accounts", needs_account=True)
async def announcements(request: SiteRequest) -> list[Json]:
    """Return the current announcements; the dismissed ones only with `with_dismissed`."""
    dismissed = require_account(request).preferences.dismissed_announcements
    now_ms, with_dismissed = request.services.clock.now_ms(), flag(api_fields(request), "with_dismissed")
    current = (each for each in request.services[SiteService].announcements if each.is_current(now_ms))
    listed_announcements = [each for each in current if with_dismissed or each.id not in dismissed]
    return [instance.announcement_entity(each, each.id in dismissed) for each in listed_announcements]


@endpoint("write:accounts", needs_account=True)
async def dismiss_announcement(request: SiteRequest, announcement_id: int) -> None:
    await dismiss_for(request, announcement_id)


async def _read_figures(request: SiteRequest) -> instance.SiteFigures:
    """Return the figures of the site, at most a minute old; zeros for visitors of a members-only site."""
    if get_site(request).members_only and request.account is None:
        return instance.SiteFigures(0, 0, 0)

    async def read() -> instance.SiteFigures:
        stats, now_ms = request.services.statistics.stats, request.services.clock.now_ms()
        accounts, active_month, posts = await run_together(
            request.services[AccountService].count(),
            stats.count_active_accounts(30, now_ms=now_ms),
            stats.count_posts(now_ms=now_ms),
        )
        return instance.SiteFigures(accounts, active_month, posts)

    return await get_or_compute("instance", instance.SiteFigures, FIGURES_TTL_S, read)


def _site_info(request: SiteRequest) -> instance.SiteInfo:
    site = get_site(request)
    contact = site.contact or re.sub("^mailto:", "", settings.SECURITY_CONTACT)
    email = contact if "@" in contact else ""
    return instance.SiteInfo(request.site_url, site, _description(site), email, request.services.config)


def _description(site: SiteSettings) -> str:
    return site.description or _("Short posts by the people you follow, in the order they were written.")
