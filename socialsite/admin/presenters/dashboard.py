"""The dashboard: processes, outbox, fan-outs, servers and their memory."""

from collections.abc import Mapping
from dataclasses import asdict

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.domain import Author
from socialsite.admin.dashboard import Dashboard, DiskUse
from socialsite.admin.fanouts import FanOut
from socialsite.admin.labels import JsonObject, TemplateContext
from socialsite.admin.memory import MemorySnapshot
from socialsite.admin.presenters.activity import activity_json, activity_page
from socialsite.admin.servers import newest_slow_calls
from socialsite.alerts.board import Board
from socialsite.alerts.messages import TITLES, describe
from socialsite.ids import AccountId
from socialsite.recipes.job_queue import OUTBOX
from socialsite.web.responses import format_iso_time, select_fields
from timelines.templatetags.timelines_tags import number

FAMILIES_SHOWN = 12
UNEXPLAINED_SHARE_SHOWN, UNEXPLAINED_BYTES_SHOWN = 0.1, 16 << 20
"""Unexplained memory is shown above this share and size, because a server's buffers and libraries take less."""


def dashboard_page(found: Dashboard) -> TemplateContext:
    """Return the context of admin/_live.html."""
    queues = dict(found.queue_depths or {})
    return {
        "alerts": alert_rows(found.board) if found.board else None,
        "dashboard": found,
        "activity": activity_page(found.activity) if found.activity else None,
        "depth": queues.pop(OUTBOX, None),
        "queues": queues,
        "keys": sum(node.keys for node in found.nodes or ()),
        "slow": newest_slow_calls(found.nodes or []),
        "memory": memory_page(found.memory) if found.memory else None,
        "disk": disk_page(found.disk) if found.disk else None,
    }


def alert_rows(board: Board) -> list[JsonObject]:
    """Return the alerts that last, for admin/_alerts.html and JSON."""
    return [
        {"name": name, "title": str(TITLES[name]), "text": describe(name, alert.finding), "since_ms": alert.since_ms}
        for name, alert in board.active.items()
    ]


def disk_page(disk: DiskUse) -> TemplateContext:
    """Return the counted bytes of pictures, and the bytes of their folder as `du` counts them, if it is measured."""
    counted_bytes, use = disk
    measured = {"folder": filesizeformat(use.size_bytes), "files": use.files, "at_ms": use.at_ms} if use else {}
    return {"counted": filesizeformat(counted_bytes), **measured}


def dashboard_json(found: Dashboard) -> JsonObject:
    nodes, depths = found.nodes, found.queue_depths
    return {
        "alerts": alert_rows(found.board) if found.board else None,
        "at": format_iso_time(found.at_ms),
        "activity": activity_json(found.activity) if found.activity else None,
        "processes": found.processes,
        "outbox": depths[OUTBOX] if depths else None,
        "queues": depths or None,
        "fan_outs": found.fan_outs and [fan_out_json(each, found.authors) for each in found.fan_outs],
        "nodes": nodes and [{k: v for k, v in asdict(node).items() if k != "slow"} for node in nodes],
        "slow": nodes and newest_slow_calls(nodes),
        "memory": memory_json(found.memory) if found.memory else None,
        "drift": found.repair_counts,
        "disk": dict(zip(("counted_bytes", "folder"), found.disk, strict=True)) if found.disk else None,
    }


def fan_out_json(each: FanOut, authors: Mapping[AccountId, Author]) -> JsonObject:
    run = each.next_pass
    author = authors.get(run.author_id)
    return select_fields(each, "done total published_at") | select_fields(
        run, "phase partition", post=str(run.post_id), author=author and author.handle, taken=each.is_claimed
    )


def memory_page(snapshot: MemorySnapshot) -> TemplateContext:
    report, total = snapshot.report, max(1, snapshot.report.bytes + snapshot.unexplained_bytes)
    is_much = snapshot.unexplained_bytes > max(UNEXPLAINED_SHARE_SHOWN * total, UNEXPLAINED_BYTES_SHOWN)
    families = sorted(report.families.items(), key=lambda pair: -pair[1].bytes)[:FAMILIES_SHOWN]
    return {
        "families": families,
        "total": total,
        "is_sampled": snapshot.is_sampled,
        "unseen": filesizeformat(snapshot.unexplained_bytes) if is_much else "",
        "prospect": describe_forecast(snapshot),
    }


def describe_forecast(snapshot: MemorySnapshot) -> str:
    forecast = snapshot.forecast
    if not forecast.bytes_a_post:
        return _("There is no forecast yet, because there are no posts.")
    figures = {"bytes": number(round(forecast.bytes_a_post)), "posts": number(forecast.posts_left)}
    if forecast.posts_left is None:
        return _("A post takes %(bytes)s bytes. Without maxmemory there is no forecast.") % figures
    if forecast.days_left is None:
        return _("A post takes %(bytes)s bytes; %(posts)s more fit.") % figures
    days = round(forecast.days_left)
    text = ngettext(
        "A post takes %(bytes)s bytes; %(posts)s more fit: %(days)s day at the present rate.",
        "A post takes %(bytes)s bytes; %(posts)s more fit: %(days)s days at the present rate.",
        days,
    )
    return text % {**figures, "days": number(days)}


def memory_json(snapshot: MemorySnapshot) -> JsonObject:
    families = snapshot.report.families.items()
    return {
        "at": format_iso_time(snapshot.at_ms),
        "sampled": snapshot.is_sampled,
        "unseen": snapshot.unexplained_bytes,
        "families": {name: {"keys": family.keys, "bytes": family.bytes} for name, family in families},
        "forecast": snapshot.forecast,
    }
