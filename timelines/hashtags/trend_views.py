"""Renders trending hashtags as a panel and as JSON."""

from collections.abc import Sequence
from functools import lru_cache

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest
from timelines.hashtags.trends import ExploredHashtag, Trend, TrendService
from timelines.pages.presenters import Json, hashtag_json, hashtag_url
from timelines.pages.responses import TemplateContext

LINE_SIZE, HOURS_PER_POINT = (60, 16), 2


async def trends_panel(request: SiteRequest) -> Placeholder | str:
    """Return the panel of trends, or "" if there are no trends."""
    trends = await request.services[TrendService].top()
    return Placeholder(_render_panel(trends, get_language() or "")) if trends else ""


def cached_trends_panel(request: SiteRequest, language: str) -> Placeholder | str:
    """Return the panel of the cached trends, or else of the cached newest hashtags. Reads nothing from the store."""
    trends = request.services[TrendService].cached or request.services[TrendService].cached_newest
    return Placeholder(_render_panel(trends, language)) if trends else ""


def trends_json(trends: Sequence[Trend]) -> Json:
    return {"tags": [{**hashtag_json(each.tag), "accounts": each.accounts} for each in trends]}


def hashtags_json(hashtags: Sequence[ExploredHashtag]) -> list[Json]:
    return [{**hashtag_json(each.tag), "accounts": each.accounts, "hours": list(each.hours)} for each in hashtags]


def explored_hashtag(hashtag: ExploredHashtag) -> TemplateContext:
    """Return a hashtag for timelines/_explored_hashtag.html."""
    return trend_contexts([hashtag])[0] | {"line": draw_line(hashtag.hours)}


def draw_line(hours: Sequence[int]) -> str:
    """Return the points of an SVG polyline in LINE_SIZE, one for each two hours, or "" if there are no uses."""
    sums = [sum(hours[at : at + HOURS_PER_POINT]) for at in range(0, len(hours), HOURS_PER_POINT)]
    if not any(sums):
        return ""
    width, height = LINE_SIZE
    step, highest = width / (len(sums) - 1), max(sums)
    return " ".join(f"{at * step:.1f},{height - height * count / highest:.1f}" for at, count in enumerate(sums))


@lru_cache(maxsize=64)
def _render_panel(trends: tuple[Trend, ...], language: str) -> SafeString:
    """Render the panel. `language` is the active language, a part of the cache key."""
    return render_to_string("timelines/_trends.html", {"trends": trend_contexts(trends)})


def trend_contexts(trends: Sequence[Trend | ExploredHashtag]) -> list[TemplateContext]:
    return [{"tag": each.tag, "url": hashtag_url(each.tag), "accounts": each.accounts} for each in trends]
