"""The dashboard: what runs, what is owed, the servers, their memory."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.domain import AccountId, Author
from socialsite.admin.dashboard import Dashboard
from socialsite.admin.fanouts import FanOut
from socialsite.admin.memory import MemoryLook
from socialsite.admin.nodes import NodeHealth, SlowCall, slowest
from socialsite.admin.presenters.activity import activity_json, activity_page
from socialsite.admin.presenters.labels import PHASES, Json, Page, duration, percent
from socialsite.web.requests import time_text
from timelines.templatetags.timelines_tags import number

FAMILIES_SHOWN = 12
MUCH_UNSEEN, MUCH_UNSEEN_BYTES = 0.1, 16 << 20
"""Part of the memory, and bytes: the server's buffers and libraries are less."""


def dashboard_page(found: Dashboard) -> Page:
    """What ops/_live.html takes."""
    depth = found.depth
    return {
        "at_ms": found.at_ms,
        "activity": activity_page(found.activity) if found.activity else None,
        "processes": found.processes,
        "depth": depth,
        "lag": duration(depth.oldest_ms) if depth and not depth.is_empty else "–",
        "fan_outs": _rows(found.fan_outs, lambda each: fan_out_page(each, found.authors)),
        "nodes": _rows(found.nodes, lambda node: node_page(node, found.nodes or [])),
        "slow": _rows(slowest(found.nodes) if found.nodes is not None else None, slow_page),
        "memory": memory_page(found.memory) if found.memory else None,
        "drift": found.drift,
    }


def dashboard_json(found: Dashboard) -> Json:
    nodes = found.nodes
    return {
        "at": time_text(found.at_ms),
        "activity": activity_json(found.activity) if found.activity else None,
        "processes": asdict(found.processes) if found.processes else None,
        "outbox": asdict(found.depth) if found.depth else None,
        "fan_outs": _rows(found.fan_outs, lambda each: fan_out_json(each, found.authors)),
        "nodes": _rows(nodes, lambda node: {k: v for k, v in asdict(node).items() if k != "slow"}),
        "slow": _rows(slowest(nodes) if nodes is not None else None, asdict),
        "memory": memory_json(found.memory) if found.memory else None,
        "drift": found.drift,
    }


def _rows(found: Sequence[Any] | None, row: Any) -> list[Any] | None:
    return None if found is None else [row(each) for each in found]


def fan_out_page(each: FanOut, authors: Mapping[AccountId, Author]) -> Page:
    run = each.running
    return {
        "post_id": run.post_id,
        "author": authors.get(run.author_id),
        "author_id": run.author_id,
        "phase": PHASES[run.phase],
        "partition": run.partition,
        "is_taken": run.is_taken,
        "published_ms": each.published_ms,
        "done": each.done,
        "total": each.total,
        "percent": round(each.share * 100),
    }


def fan_out_json(each: FanOut, authors: Mapping[AccountId, Author]) -> Json:
    run = each.running
    return {
        "post": str(run.post_id),
        "author": authors[run.author_id].handle if run.author_id in authors else None,
        "phase": run.phase,
        "partition": run.partition,
        "taken": run.is_taken,
        "done": each.done,
        "total": each.total,
        "published_at": time_text(each.published_ms),
    }


def node_page(node: NodeHealth, nodes: Sequence[NodeHealth]) -> Page:
    keys = sum(each.keys for each in nodes)
    return {
        "address": node.address,
        "is_up": node.ping_ms is not None,
        "role": node.role,
        "ping": duration(node.ping_ms),
        "used": filesizeformat(node.used_bytes),
        "most": filesizeformat(node.most_bytes) if node.most_bytes else "–",
        "commands_s": node.commands_s,
        "clients": node.clients,
        "keys": node.keys,
        "key_share": percent(node.keys / keys if keys else None),
        "delivery_share": percent(node.delivery_share),
    }


def slow_page(call: SlowCall) -> Page:
    return {**asdict(call), "took": duration(call.took_ms)}


def memory_page(look: MemoryLook) -> Page:
    report, total = look.report, max(1, look.report.bytes + look.unseen)
    is_much = look.unseen > max(MUCH_UNSEEN * total, MUCH_UNSEEN_BYTES)
    families = sorted(report.families.items(), key=lambda pair: -pair[1].bytes)[:FAMILIES_SHOWN]
    return {
        "families": [
            {
                "name": name,
                "keys": family.keys,
                "bytes": filesizeformat(family.bytes),
                "a_key": filesizeformat(family.bytes_a_key),
                "percent": round(100 * family.bytes / total),
            }
            for name, family in families
        ],
        "is_sampled": look.is_sampled,
        "unseen": filesizeformat(look.unseen) if is_much else "",
        "prospect": prospect(look),
    }


def prospect(look: MemoryLook) -> str:
    """The forecast in a sentence."""
    ahead = look.ahead
    if not ahead.bytes_a_post:
        return _("There are no posts yet to forecast from.")
    said = {"bytes": number(round(ahead.bytes_a_post)), "posts": number(ahead.posts_left)}
    if ahead.posts_left is None:
        return _("A post takes %(bytes)s bytes. Without maxmemory nothing can be foretold.") % said
    if ahead.days_left is None:
        return _("A post takes %(bytes)s bytes; %(posts)s more fit.") % said
    days = round(ahead.days_left)
    text = ngettext(
        "A post takes %(bytes)s bytes; %(posts)s more fit: %(days)s day at the present rate.",
        "A post takes %(bytes)s bytes; %(posts)s more fit: %(days)s days at the present rate.",
        days,
    )
    return text % {**said, "days": number(days)}


def memory_json(look: MemoryLook) -> Json:
    families = {
        name: {"keys": family.keys, "bytes": family.bytes} for name, family in look.report.families.items()
    }
    return {
        "at": time_text(look.at_ms),
        "sampled": look.is_sampled,
        "unseen": look.unseen,
        "families": families,
        "forecast": asdict(look.ahead),
    }
