"""A span of time: charts, and what stands beside them."""

from collections.abc import Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from socialsite.admin.activity import Activity
from socialsite.admin.charts import area_path, line_path
from socialsite.admin.presenters.labels import METRIC_LABELS, JsonObject, TemplateContext, format_duration
from socialsite.recipes.time_series import Point
from timelines.templatetags.timelines_tags import number


def chart_page(name: str, title: str | Promise, points: Sequence[Point]) -> TemplateContext:
    """One line over time; `now` is the last whole interval's."""
    counts = [point.count for point in points]
    top = max(counts, default=0)
    now = counts[-2] if len(counts) > 1 else sum(counts)
    said = {"name": title, "total": number(sum(counts)), "top": number(top)}
    return {
        "name": name,
        "title": title,
        "total": number(sum(counts)),
        "now": number(now),
        "top": number(top),
        "line": line_path(counts, top),
        "area": area_path(counts, top),
        "label": _("%(name)s: %(total)s in all, at most %(top)s in an interval") % said,
    }


def latency_chart_page(found: Activity) -> TemplateContext:
    """Two lines: half of the deliveries, and nearly all of them."""
    half = [each.latency.p50_ms for each in found.latency_points]
    most = [each.latency.p99_ms for each in found.latency_points]
    top = max((value for value in most if value is not None), default=0.0)
    said = {"p50": format_duration(found.latency.p50_ms), "p99": format_duration(found.latency.p99_ms)}
    return {
        "title": _("Post to home"),
        "is_empty": found.latency.p99_ms is None,
        "p50": said["p50"],
        "p99": said["p99"],
        "top": format_duration(top or None),
        "half": line_path(half, top),
        "most": line_path(most, top),
        "label": _("Post to home: half within %(p50)s, 99 percent within %(p99)s") % said,
    }


def activity_page(found: Activity) -> TemplateContext:
    """What ops/_activity.html takes."""
    return {
        "charts": [chart_page(name, title, found.trends[name]) for name, title in METRIC_LABELS.items()],
        "late": latency_chart_page(found),
        "refusals": [{"name": rule, "count": count} for rule, count in found.refusals.items()],
        "errors": [{"name": status, "count": count} for status, count in found.errors.items()],
        "active": found.active,
        "busiest": [{"author": author, "count": count} for author, count in found.busiest],
    }


def activity_json(found: Activity) -> JsonObject:
    return {
        "totals": {name: sum(point.count for point in points) for name, points in found.trends.items()},
        "points": {name: [[p.at_ms, p.count] for p in points] for name, points in found.trends.items()},
        "latency": {
            "p50_ms": found.latency.p50_ms,
            "p99_ms": found.latency.p99_ms,
            "points": [[each.at_ms, each.latency.p50_ms, each.latency.p99_ms] for each in found.latency_points],
        },
        "refusals": found.refusals,
        "errors": found.errors,
        "active": dict(zip(("day", "week", "month"), found.active, strict=True)),
        "busiest": [{"account": author.handle, "requests": count} for author, count in found.busiest],
    }
