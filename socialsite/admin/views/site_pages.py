"""The public pages about the site: its texts, number of accounts and activity, at most a minute old."""

from django.http import HttpResponse
from django.utils.translation import gettext as _

from socialsite import __version__
from socialsite.admin.requests import get_services
from socialsite.analytics.metrics import POSTS
from socialsite.clock import DAY_MS
from socialsite.concurrency import run_together
from socialsite.container import Services
from socialsite.recipes.time_series import ALL_MEMBERS
from socialsite.web.cache import get_or_compute
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest
from socialsite.web.responses import get_site, respond
from timelines.pages.site_texts import rules_html, site_text_html, staff_html
from timelines.templatetags.timelines_tags import number

FIGURES_TTL_S = 60.0


async def about(request: SiteRequest) -> HttpResponse:
    services = get_services(request)
    site, figures = get_site(request), dict[str, int]()
    shows_people = request.account is not None or not site.members_only
    if shows_people:
        figures = await get_or_compute("about", dict[str, int], FIGURES_TTL_S, lambda: _read_figures(services))
    return respond(
        request,
        "admin/about.html",
        page=lambda: {
            **{name: Placeholder(number(count)) for name, count in figures.items()},
            "version": __version__,
            "text_html": site_text_html(site, "about"),
            "contact": site.contact,
            "contact_url": site.contact_url,
            "staff_html": staff_html(site) if shows_people else "",
            "page_title": _("About this site"),
            "canonical_url": f"{request.site_url}/about/",
        },
        data=lambda: {
            **figures,
            "version": __version__,
            "contact": site.contact,
            "staff": site.staff if shows_people else (),
        },
    )


async def _read_figures(services: Services) -> dict[str, int]:
    now_ms = services.clock.now_ms()
    stats, midnight_ms = services.statistics.stats, now_ms - now_ms % DAY_MS
    accounts, posts, today, month = await run_together(
        services.repositories.accounts.last_id(),
        stats.totals_by_member(POSTS, [ALL_MEMBERS], midnight_ms, now_ms, now_ms=now_ms),
        stats.count_active_accounts(1, now_ms=now_ms),
        stats.count_active_accounts(30, now_ms=now_ms),
    )
    posts_today = posts.get(ALL_MEMBERS, 0)
    return {"accounts": accounts, "posts_today": posts_today, "active_today": today, "active_month": month}


async def rules(request: SiteRequest) -> HttpResponse:
    site = get_site(request)
    return _text_page(request, _("Rules"), rules_html(site), rules=site.rules)


async def privacy(request: SiteRequest) -> HttpResponse:
    html = site_text_html(get_site(request), "privacy")
    return _text_page(request, _("Privacy"), html, content=html + "")


async def terms(request: SiteRequest) -> HttpResponse:
    html = site_text_html(get_site(request), "terms")
    return _text_page(request, _("Terms of use"), html, content=html + "")


def _text_page(request: SiteRequest, title: str, html: str, **data: object) -> HttpResponse:
    page = {"page_title": title, "text_html": html, "canonical_url": request.site_url + request.path}
    return respond(request, "site/text.html", page=lambda: page, data=lambda: data)
