"""Renders the side panel with trends and lists, and the tabs of timelines, for all pages.

The data comes from caches of the process, so that no page reads from the store for them.
"""

from functools import lru_cache
from html import escape
from itertools import chain
from urllib.parse import quote

from django.utils.safestring import SafeString
from django.utils.translation import get_language

from accounts.models import Account
from socialsite.ids import AccountId
from socialsite.site.service import SiteService
from socialsite.web.page_cache import Placeholder
from socialsite.web.patterns import mark, render_pattern
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
    account_lists = request.services[ListService].menus.get(viewer_id)
    lists = tuple((list_url(each.id), each.title) for each in account_lists)
    tags = tuple((hashtag_url(tag), f"#{tag}") for tag in request.services[FollowedHashtagService].menus.get(viewer_id))
    links = lists + tags
    if isinstance(viewer, Account) and (tabs := viewer.preferences.tabs) is not None:
        names = [*(str(each.id) for each in account_lists), *(name for _, name in tags)]
        link_by_name = dict(zip(names, links, strict=True))
        links = tuple(link_by_name[name] for name in tabs if name in link_by_name)
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


@lru_cache(maxsize=1_024)
def _render(template: str, links: Links, path: str, language: str) -> SafeString:
    """Render a part of the side panel. `language` is the active language, a part of the cache key.

    Lists have different links for each reader, so a pattern is cached, too.
    """
    current = next((number for number, (url, _) in enumerate(links) if url == path), None)
    pattern = _links_pattern(template, len(links), current, path if current is None else "", language)
    names = (f"{name}{number}" for number in range(len(links)) for name in ("url", "title"))
    return SafeString(pattern % dict(zip(names, map(escape, chain.from_iterable(links)), strict=True)))


@lru_cache(maxsize=1_024)
def _links_pattern(template: str, count: int, current: int | None, path: str, language: str) -> str:
    """Return the pattern for `count` links. `language` is the active language, a part of the cache key.

    `current` is the number of the link to the shown page. It is None if no link leads there; then `path` is the path
    of the shown tab (TAB_PATHS) or "".
    """
    links = [{"url": mark(f"url{number}"), "title": mark(f"title{number}")} for number in range(count)]
    return render_pattern(template, {"links": links, "path": path if current is None else links[current]["url"]})
