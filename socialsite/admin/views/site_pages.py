"""The public pages with the rules and the texts of the site."""

from collections.abc import Awaitable, Callable

from django.http import HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from socialsite.web.requests import SiteRequest
from socialsite.web.responses import get_site, respond
from timelines.pages.site_texts import SiteText, rules_html, site_text_html


async def rules(request: SiteRequest) -> HttpResponse:
    site = get_site(request)
    return respond(
        request,
        "site/text.html",
        page=lambda: _page(request, _("Rules"), rules_html(site)),
        data=lambda: {"rules": site.rules},
    )


def _make_text_view(name: SiteText, title: str | Promise) -> Callable[[SiteRequest], Awaitable[HttpResponse]]:
    async def view(request: SiteRequest) -> HttpResponse:
        html = site_text_html(get_site(request), name)
        return respond(
            request,
            "site/text.html",
            page=lambda: _page(request, str(title), html),
            data=lambda: {"content": html + ""},
        )

    return view


privacy = _make_text_view("privacy", gettext_lazy("Privacy"))
terms = _make_text_view("terms", gettext_lazy("Terms of use"))


def _page(request: SiteRequest, title: str, html: str) -> dict[str, object]:
    return {"page_title": title, "text_html": html, "canonical_url": request.build_absolute_uri(request.path)}
