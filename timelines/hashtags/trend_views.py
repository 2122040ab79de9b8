"""Trending hashtags, for pages that show them as a small panel and for programs."""

from collections.abc import Sequence
from functools import lru_cache

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from socialsite.web.page_cache import Slot
from socialsite.web.requests import SiteRequest
from timelines.hashtags.trends import Trend
from timelines.pages.presenters import Json, tag_json, tag_url


async def trends_slot(request: SiteRequest) -> Slot | str:
    """The panel; "" while nothing is talked about."""
    trends = await request.services.trending.top()
    return Slot(_panel(trends, get_language() or "")) if trends else ""


def trends_known(request: SiteRequest) -> Slot | str:
    """The panel of what was asked for last: for beside every page, where it must cost nothing."""
    trends = request.services.trending.known
    return Slot(_panel(trends, get_language() or "")) if trends else ""


def trends_json(trends: Sequence[Trend]) -> Json:
    return {"tags": [{**tag_json(each.tag), "accounts": each.accounts} for each in trends]}


@lru_cache(maxsize=64)
def _panel(trends: tuple[Trend, ...], language: str) -> SafeString:
    """`language` is the active one; it stands in the key only."""
    shown = [{"tag": each.tag, "url": tag_url(each.tag), "accounts": each.accounts} for each in trends]
    return render_to_string("timelines/_trends.html", {"trends": shown})
