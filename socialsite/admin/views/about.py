"""What everybody may know of this site: how many accounts there are, and how lively it is."""

import asyncio

from django.http import HttpResponse
from django.utils.translation import gettext as _

from socialsite.admin.access import get_services
from socialsite.analytics.metrics import POSTS
from socialsite.recipes.series import ALL_MEMBERS
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest, respond
from timelines.templatetags.timelines_tags import number

DAY_MS = 86_400_000


async def about(request: SiteRequest) -> HttpResponse:
    services, now_ms = get_services(request), request.services.clock.now_ms()
    figures, midnight_ms = services.statistics.stats, now_ms - now_ms % DAY_MS
    accounts, posts, today, month = await asyncio.gather(
        services.repositories.accounts.last_id(),
        figures.totals_by_member(POSTS, [ALL_MEMBERS], midnight_ms, now_ms, now_ms=now_ms),
        figures.count_active_accounts(1, now_ms=now_ms),
        figures.count_active_accounts(30, now_ms=now_ms),
    )
    facts = {
        "accounts": accounts,
        "posts_today": posts.get(ALL_MEMBERS, 0),
        "active_today": today,
        "active_month": month,
    }
    return respond(
        request,
        "ops/about.html",
        page=lambda: {
            **{name: Placeholder(number(count)) for name, count in facts.items()},
            "page_title": _("About this site"),
            "canonical_url": request.build_absolute_uri("/about/"),
        },
        data=lambda: facts,
    )
