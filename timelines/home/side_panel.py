"""Renders the side panel with trends and lists, and the tabs of timelines, for all pages.

The data comes from caches of the process, so that no page reads from the store for them.
"""

from functools import lru_cache
from urllib.parse import quote

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from socialsite.ids import AccountId
from socialsite.site.service import SiteService
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest
from timelines.hashtags.service import FollowedHashtagService
from timelines.hashtags.trend_views import cached_trends_panel
from timelines.lists.list_page import list_url
from timelines.lists.service import ListService
from timelines.pages.presenters import hashtag_url
from timelines.reports.service import ReportService
from timelines.templatetags.timelines_tags import avatar

TAB_PATHS = ("/", "/public/", "/tags/")
Links = tuple[tuple[str, str], ...]
"""(URL, text) of each link."""


def render_side_panel(request: SiteRequest) -> dict[str, Placeholder | str]:
    """Return the parts of base.html that this app renders. A part without content is ""."""
    viewer = getattr(request, "account", None)  # not set on early error pages
    is_hidden = viewer is None and request.services[SiteService].settings.members_only
    language = get_language() or ""
    trends = "" if is_hidden else cached_trends_panel(request, language)
    if viewer is None:
        return {"trends_aside": trends, "lists_aside": "", "tabs_html": ""}
    viewer_id, path = AccountId(viewer.id), _quoted(request.path)
    lists = tuple((list_url(each.id), each.title) for each in request.services[ListService].menus.get(viewer_id))
    tags = request.services[FollowedHashtagService].menus.get(viewer_id)
    links = lists + tuple((hashtag_url(tag), f"#{tag}") for tag in tags)
    has_tabs = path in TAB_PATHS or any(path == url for url, _ in links)
    open_reports = request.services[ReportService].backlog.open_reports if viewer.is_staff else 0
    return {
        "trends_aside": trends,
        "staff_badge": Placeholder(str(open_reports)) if open_reports else "",
        "lists_aside": Placeholder(_render("timelines/_lists_aside.html", lists, "", language)) if lists else "",
        "tabs_html": Placeholder(_render("timelines/_timeline_tabs.html", links, path, language)) if has_tabs else "",
        "viewer_avatar": Placeholder(avatar(viewer)),
        "viewer_icon": Placeholder(avatar(viewer, "icon")) if viewer.avatar else "",
    }


_quoted = lru_cache(maxsize=1_024)(quote)


@lru_cache(maxsize=2_048)
def _render(template: str, links: Links, path: str, language: str) -> SafeString:
    """Render a part of the side panel. `language` is the active language, a part of the cache key."""
    items = [{"url": url, "title": title} for url, title in links]
    return render_to_string(template, {"links": items, "path": path})
