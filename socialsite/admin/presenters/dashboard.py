"""The dashboard: processes, outbox, fan-outs, servers and their memory."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.domain import Author
from socialsite.admin.dashboard import Dashboard, DiskUse
from socialsite.admin.fanouts import FanOut
from socialsite.admin.memory import MemorySnapshot
from socialsite.admin.presenters.activity import activity_json, activity_page
from socialsite.admin.presenters.labels import (
    PHASE_LABELS,
    QUEUE_LABELS,
    JsonObject,
    TemplateContext,
    format_duration,
    format_percent,
)
from socialsite.admin.servers import NodeHealth, SlowCall, newest_slow_calls
from socialsite.alerts.board import Board
from socialsite.alerts.messages import TITLES, describe
from socialsite.ids import AccountId
from socialsite.recipes.job_queue import OUTBOX
from socialsite.web.responses import format_iso_time
from timelines.templatetags.timelines_tags import number

FAMILIES_SHOWN = 12
USE_FIELDS = ("size_bytes", "files", "at_ms")
UNEXPLAINED_SHARE_SHOWN, UNEXPLAINED_BYTES_SHOWN = 0.1, 16 << 20
"""Unexplained memory is shown above this share and size, because a server's buffers and libraries take less."""


def dashboard_page(found: Dashboard) -> TemplateContext:
    """Return the context of ops/_live.html."""
    depth = (found.queue_depths or {}).get(OUTBOX)
    return {
        "alerts": alert_rows(found.board) if found.board else None,
        "at_ms": found.at_ms,
        "activity": activity_page(found.activity) if found.activity else None,
        "processes": found.processes,
        "depth": depth,
        "queues": [
            {"name": name, "label": QUEUE_LABELS.get(name, name), "depth": each}
            for name, each in (found.queue_depths or {}).items()
            if name != OUTBOX
        ],
        "lag": format_duration(depth.oldest_ms) if depth and not depth.is_empty else "–",
        "fan_outs": _map_rows(found.fan_outs, lambda each: fan_out_page(each, found.authors)),
        "nodes": _map_rows(found.nodes, lambda node: node_page(node, found.nodes or [])),
        "slow": _map_rows(newest_slow_calls(found.nodes) if found.nodes is not None else None, slow_call_page),
        "memory": memory_page(found.memory) if found.memory else None,
        "drift": found.repair_counts,
        "disk": disk_page(found.disk) if found.disk else None,
    }


def alert_rows(board: Board) -> list[JsonObject]:
    """Return the alerts that last, for ops/_alerts.html and JSON."""
    return [
        {"name": name, "title": str(TITLES[name]), "text": describe(name, alert.finding), "since_ms": alert.since_ms}
        for name, alert in board.active.items()
    ]


def disk_page(disk: DiskUse) -> TemplateContext:
    """Return the counted bytes of pictures, and the bytes of their folder as `du` counts them, if it is measured."""
    counted_bytes, use = disk
    measured = {"folder": filesizeformat(use.size_bytes), "files": use.files, "at_ms": use.at_ms} if use else {}
    return {"counted": filesizeformat(counted_bytes), **measured}


def disk_json(disk: DiskUse) -> JsonObject:
    counted_bytes, use = disk
    return {
        "counted_bytes": counted_bytes,
        "folder": {name: getattr(use, name) for name in USE_FIELDS} if use else None,
    }


def dashboard_json(found: Dashboard) -> JsonObject:
    nodes, depths = found.nodes, found.queue_depths
    return {
        "alerts": alert_rows(found.board) if found.board else None,
        "at": format_iso_time(found.at_ms),
        "activity": activity_json(found.activity) if found.activity else None,
        "processes": asdict(found.processes) if found.processes else None,
        "outbox": asdict(depths[OUTBOX]) if depths else None,
        "queues": {name: asdict(depth) for name, depth in depths.items()} if depths else None,
        "fan_outs": _map_rows(found.fan_outs, lambda each: fan_out_json(each, found.authors)),
        "nodes": _map_rows(nodes, lambda node: {k: v for k, v in asdict(node).items() if k != "slow"}),
        "slow": _map_rows(newest_slow_calls(nodes) if nodes is not None else None, asdict),
        "memory": memory_json(found.memory) if found.memory else None,
        "drift": found.repair_counts,
        "disk": disk_json(found.disk) if found.disk else None,
    }


def _map_rows(found: Sequence[Any] | None, row: Any) -> list[Any] | None:
    return None if found is None else [row(each) for each in found]


def fan_out_page(each: FanOut, authors: Mapping[AccountId, Author]) -> TemplateContext:
    run = each.next_pass
    return {
        "post_id": run.post_id,
        "author": authors.get(run.author_id),
        "author_id": run.author_id,
        "phase": PHASE_LABELS[run.phase],
        "partition": run.partition,
        "is_taken": run.is_claimed,
        "published_ms": each.published_ms,
        "done": each.done,
        "total": each.total,
        "percent": round(each.share * 100),
    }


def fan_out_json(each: FanOut, authors: Mapping[AccountId, Author]) -> JsonObject:
    run = each.next_pass
    return {
        "post": str(run.post_id),
        "author": authors[run.author_id].handle if run.author_id in authors else None,
        "phase": run.phase,
        "partition": run.partition,
        "taken": run.is_claimed,
        "done": each.done,
        "total": each.total,
        "published_at": format_iso_time(each.published_ms),
    }


def node_page(node: NodeHealth, nodes: Sequence[NodeHealth]) -> TemplateContext:
    keys = sum(each.keys for each in nodes)
    return {
        "address": node.address,
        "is_up": node.ping_ms is not None,
        "role": node.role,
        "ping": format_duration(node.ping_ms),
        "used": filesizeformat(node.used_bytes),
        "most": filesizeformat(node.most_bytes) if node.most_bytes else "–",
        "commands_s": node.commands_s,
        "clients": node.clients,
        "keys": node.keys,
        "key_share": format_percent(node.keys / keys if keys else None),
        "delivery_share": format_percent(node.delivery_share),
    }


def slow_call_page(call: SlowCall) -> TemplateContext:
    return {**asdict(call), "took": format_duration(call.took_ms)}


def memory_page(snapshot: MemorySnapshot) -> TemplateContext:
    report, total = snapshot.report, max(1, snapshot.report.bytes + snapshot.unexplained_bytes)
    is_much = snapshot.unexplained_bytes > max(UNEXPLAINED_SHARE_SHOWN * total, UNEXPLAINED_BYTES_SHOWN)
    families = sorted(report.families.items(), key=lambda pair: -pair[1].bytes)[:FAMILIES_SHOWN]
    return {
        "families": [
            {
                "name": name,
                "keys": family.keys,
                "bytes": filesizeformat(family.bytes),
                "a_key": filesizeformat(family.bytes_per_key),
                "percent": round(100 * family.bytes / total),
            }
            for name, family in families
        ],
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
    families = {name: {"keys": family.keys, "bytes": family.bytes} for name, family in snapshot.report.families.items()}
    return {
        "at": format_iso_time(snapshot.at_ms),
        "sampled": snapshot.is_sampled,
        "unseen": snapshot.unexplained_bytes,
        "families": families,
        "forecast": asdict(snapshot.forecast),
    }
