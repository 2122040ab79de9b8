"""The statistics of a span of time: charts as SVG paths, and the numbers beside them."""

from collections.abc import Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from socialsite.admin.activity import Activity
from socialsite.admin.labels import METRIC_LABELS, JsonObject, TemplateContext, format_duration
from socialsite.recipes.time_series import Point
from timelines.templatetags.timelines_tags import number

CHART_WIDTH, CHART_HEIGHT = 300, 60
HEADROOM = 4
"""Space above the highest point for the width of its stroke."""
POINT_WIDTH = 6
"""The width of a line of one point."""


def chart_page(title: str | Promise, points: Sequence[Point]) -> TemplateContext:
    """Return a chart of one line. `now` is the count of the last complete interval."""
    counts = [point.count for point in points]
    top = max(counts, default=0)
    now = counts[-2] if len(counts) > 1 else sum(counts)
    figures = {"name": title, "total": number(sum(counts)), "top": number(top)}
    return {
        **figures,
        "title": title,
        "now": number(now),
        "line": line_path(counts, top),
        "area": area_path(counts, top),
        "label": _("%(name)s: %(total)s in all, at most %(top)s in an interval") % figures,
    }


def latency_chart_page(activity: Activity) -> TemplateContext:
    """Return a chart of two lines: the median and the 99th percentile."""
    half = [latency.p50_ms for _at_ms, latency in activity.latency_points]
    most = [latency.p99_ms for _at_ms, latency in activity.latency_points]
    top = max((value for value in most if value is not None), default=0.0)
    figures = {"p50": format_duration(activity.latency.p50_ms), "p99": format_duration(activity.latency.p99_ms)}
    return {
        **figures,
        "title": _("Post to home"),
        "is_empty": activity.latency.p99_ms is None,
        "top": format_duration(top or None),
        "half": line_path(half, top),
        "most": line_path(most, top),
        "label": _("Post to home: half within %(p50)s, 99 percent within %(p99)s") % figures,
    }


def activity_page(activity: Activity) -> TemplateContext:
    return {
        "charts": [chart_page(title, activity.trends[name]) for name, title in METRIC_LABELS.items()],
        "late": latency_chart_page(activity),
        "figures": activity,
    }


def activity_json(activity: Activity) -> JsonObject:
    return {
        "totals": {name: sum(point.count for point in points) for name, points in activity.trends.items()},
        "points": {name: [[p.at_ms, p.count] for p in points] for name, points in activity.trends.items()},
        "latency": {
            "p50_ms": activity.latency.p50_ms,
            "p99_ms": activity.latency.p99_ms,
            "points": [[at_ms, each.p50_ms, each.p99_ms] for at_ms, each in activity.latency_points],
        },
        "refusals": activity.refusals,
        "errors": activity.errors,
        "active": dict(zip(("day", "week", "month"), activity.active, strict=True)),
        "busiest": [{"account": author.handle, "requests": count} for author, count in activity.busiest],
    }


def line_path(values: Sequence[float | None], top: float) -> str:
    """Return SVG path data of a line from left to right, past each None. `top` is the value at the upper edge."""
    points = [f"{_x(at, len(values))} {_y(value, top)}" for at, value in enumerate(values) if value is not None]
    if len(points) == 1:
        return f"M{points[0]}h{POINT_WIDTH}"
    return f"M{'L'.join(points)}" if points else ""


def area_path(values: Sequence[float], top: float) -> str:
    """Return SVG path data of the area below the line."""
    return f"{line_path(values, top)}L{CHART_WIDTH} {CHART_HEIGHT}L0 {CHART_HEIGHT}Z" if values else ""


def _x(at: int, count: int) -> str:
    return f"{CHART_WIDTH * at / max(1, count - 1):.1f}".removesuffix(".0")


def _y(value: float, top: float) -> str:
    height = (CHART_HEIGHT - HEADROOM) * value / top if top else 0.0
    return f"{CHART_HEIGHT - height:.1f}".removesuffix(".0")
