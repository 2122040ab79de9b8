"""Renders the side panel with trends and lists, and the tabs of timelines, for all pages.

The data comes from caches of the process, so that no page reads from the store for them.
"""

from functools import lru_cache

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from socialsite.ids import AccountId
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest
from timelines.hashtags.trend_views import cached_trends_panel
from timelines.lists.list_page import list_url
from timelines.lists.service import ListService

TAB_PATHS = ("/", "/public/", "/tags/")
ListLinks = tuple[tuple[str, str], ...]


def render_side_panel(request: SiteRequest) -> dict[str, Placeholder | str]:
    """Return `trends_aside`, `lists_aside` and `tabs_html` of base.html. A part without content is ""."""
    trends, viewer = cached_trends_panel(request), getattr(request, "account", None)  # not set on early error pages
    if viewer is None:
        return {"trends_aside": trends, "lists_aside": "", "tabs_html": ""}
    menu = request.services[ListService].cached_menu(AccountId(viewer.id))
    links, language, path = tuple((list_url(each.id), each.title) for each in menu), get_language() or "", request.path
    has_tabs = path in TAB_PATHS or any(path == url for url, _ in links)
    return {
        "trends_aside": trends,
        "lists_aside": Placeholder(_render("timelines/_lists_aside.html", links, "", language)) if links else "",
        "tabs_html": Placeholder(_render("timelines/_timeline_tabs.html", links, path, language)) if has_tabs else "",
    }


@lru_cache(maxsize=2_048)
def _render(template: str, links: ListLinks, path: str, language: str) -> SafeString:
    """Render a part of the side panel. `language` is the active language, a part of the cache key."""
    lists = [{"url": url, "title": title} for url, title in links]
    return render_to_string(template, {"lists": lists, "path": path})
