"""What staff reads: the facts of /ops/ as JSON, and as the dicts that its templates take.

JSON: times as everywhere on this site, durations in ms, sizes in bytes; null where a server did not answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.domain import AccountId, Author
from accounts.presenters import account_json, sessions_json
from socialsite.http import time_text
from socialsite.ops.activity import Activity
from socialsite.ops.charts import area, line
from socialsite.ops.dashboard import Dashboard
from socialsite.ops.fanouts import FanOut
from socialsite.ops.letters import Letter
from socialsite.ops.memory import MemoryLook
from socialsite.ops.moderation import Case
from socialsite.ops.nodes import NodeHealth, SlowCall, slowest
from socialsite.ops.trail import TrailEntry
from socialsite.recipes.series import Point
from timelines.templatetags.timelines_tags import number

Json = dict[str, Any]
Page = dict[str, Any]
FAMILIES_SHOWN = 12

KINDS: Mapping[str, str | Promise] = {
    "posts": gettext_lazy("Posts"),
    "deliveries": gettext_lazy("Deliveries"),
    "requests": gettext_lazy("Requests"),
    "pages": gettext_lazy("Page views"),
    "sockets": gettext_lazy("Sockets opened"),
    "logins": gettext_lazy("Log-ins"),
    "signups": gettext_lazy("Sign-ups"),
    "refusals": gettext_lazy("Refused by limits"),
    "errors": gettext_lazy("Errors"),
}
"""Names of charts, in their order."""
LETTERS: Mapping[str, str | Promise] = {
    "post": gettext_lazy("First pass of a post"),
    "pass": gettext_lazy("Further pass of a post"),
    "purge": gettext_lazy("Sweep of a deleted account"),
    "unknown": gettext_lazy("Not a job of this release"),
}
ACTIONS: Mapping[str, str | Promise] = {
    "suspend": gettext_lazy("Suspended"),
    "reinstate": gettext_lazy("Reinstated"),
    "password": gettext_lazy("Password reset"),
    "sessions": gettext_lazy("Sessions ended"),
    "retry": gettext_lazy("Dead letter retried"),
    "drop": gettext_lazy("Dead letter dropped"),
}
STATES: Mapping[str, str | Promise] = {
    "active": gettext_lazy("Active"),
    "suspended": gettext_lazy("Suspended"),
    "deleted": gettext_lazy("Deleted"),
}
PHASES: Mapping[str, str | Promise] = {"homes": gettext_lazy("Homes"), "lists": gettext_lazy("Lists")}


def duration(ms: float | None) -> str:
    """12 ms, 3.4 s, 5 min; a dash for nothing."""
    if ms is None:
        return "–"
    if ms < 1_000:
        return f"{number(str(round(ms, 1)) if ms < 10 else round(ms))} ms"
    return f"{number(str(round(ms / 1000, 1)))} s" if ms < 120_000 else f"{number(round(ms / 60_000))} min"


def percent(share: float | None) -> str:
    return "–" if share is None else f"{number(round(share * 100))} %"


# Charts


def chart(name: str, title: str | Promise, points: Sequence[Point]) -> Page:
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
        "line": line(counts, top),
        "area": area(counts, top),
        "label": _("%(name)s: %(total)s in all, at most %(top)s in an interval") % said,
    }


def late_chart(found: Activity) -> Page:
    """Two lines: half of the deliveries, and nearly all of them."""
    half = [each.latency.p50_ms for each in found.late]
    most = [each.latency.p99_ms for each in found.late]
    top = max((value for value in most if value is not None), default=0.0)
    said = {"p50": duration(found.latency.p50_ms), "p99": duration(found.latency.p99_ms)}
    return {
        "title": _("Post to home"),
        "p50": said["p50"],
        "p99": said["p99"],
        "top": duration(top or None),
        "half": line(half, top),
        "most": line(most, top),
        "label": _("Post to home: half within %(p50)s, 99 percent within %(p99)s") % said,
    }


def activity_page(found: Activity) -> Page:
    """What ops/_activity.html takes."""
    return {
        "charts": [chart(name, title, found.trends[name]) for name, title in KINDS.items()],
        "late": late_chart(found),
        "refusals": [{"name": rule, "count": count} for rule, count in found.refusals.items()],
        "errors": [{"name": status, "count": count} for status, count in found.errors.items()],
        "active": found.active,
        "busiest": [{"author": author, "count": count} for author, count in found.busiest],
    }


def activity_json(found: Activity) -> Json:
    return {
        "totals": {name: sum(point.count for point in points) for name, points in found.trends.items()},
        "points": {name: [[p.at_ms, p.count] for p in points] for name, points in found.trends.items()},
        "latency": {
            "p50_ms": found.latency.p50_ms,
            "p99_ms": found.latency.p99_ms,
            "points": [[each.at_ms, each.latency.p50_ms, each.latency.p99_ms] for each in found.late],
        },
        "refusals": found.refusals,
        "errors": found.errors,
        "active": dict(zip(("day", "week", "month"), found.active, strict=True)),
        "busiest": [{"account": author.handle, "requests": count} for author, count in found.busiest],
    }


# The dashboard


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
    report, total = look.report, max(1, look.report.bytes)
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
        "families": families,
        "forecast": asdict(look.ahead),
    }


# Accounts, dead letters, the trail


def author_row(author: Author) -> Page:
    return {"author": author, "state": STATES[author.state]}


def author_line_json(author: Author) -> Json:
    return {"id": str(author.id), "handle": author.handle, "state": author.state}


def case_page(case: Case, own_id: int) -> Page:
    """What ops/account.html takes."""
    account = case.account
    return {
        "account": account,
        "state": STATES[account.state],
        "counts": case.counts,
        "posts": case.posts,
        "visits": case.visits,
        "sessions": case.sessions,
        "usage": [{"rule": u.rule, "limit": u.limit, "used": -(-u.used_milli // 1000)} for u in case.usage],
        "is_own": account.id == own_id,
        "page_title": f"@{account.handle}",
    }


def case_json(case: Case) -> Json:
    account, visits = case.account, case.visits
    return {
        "account": {**account_json(account), "state": account.state, "staff": account.is_staff},
        "counts": {**asdict(case.counts), "posts": case.posts},
        "last_seen": time_text(visits.seen_ms) if visits.seen_ms else None,
        **sessions_json(case.sessions),
    }


def letter_page(letter: Letter, authors: Mapping[AccountId, Author]) -> Page:
    author = authors.get(letter.account_id) if letter.account_id else None
    return {
        "id": letter.dead.id,
        "at_ms": letter.dead.at_ms,
        "reason": letter.dead.reason,
        "tries": letter.dead.tries,
        "kind": LETTERS[letter.kind],
        "author": author,
        "post_id": letter.post_id,
        "cursor": ", ".join(f"{name} {value}" for name, value in letter.cursor.items()),
    }


def letter_json(letter: Letter, authors: Mapping[AccountId, Author]) -> Json:
    author = authors.get(letter.account_id) if letter.account_id else None
    return {
        "id": letter.dead.id,
        "job": letter.dead.job_id,
        "at": time_text(letter.dead.at_ms),
        "reason": letter.dead.reason,
        "tries": letter.dead.tries,
        "kind": letter.kind,
        "account": author.handle if author else None,
        "post": str(letter.post_id) if letter.post_id else None,
        "cursor": letter.cursor,
    }


def trail_page(entry: TrailEntry, authors: Mapping[AccountId, Author]) -> Page:
    what, _colon, id = entry.target.partition(":")
    account = authors.get(AccountId(int(id))) if what == "account" else None
    return {
        "at_ms": entry.at_ms,
        "by": authors.get(AccountId(entry.by)),
        "action": ACTIONS.get(entry.action, entry.action),
        "account": account,
        "target": id,
        "request_id": entry.request_id,
    }


def trail_json(entry: TrailEntry, authors: Mapping[AccountId, Author]) -> Json:
    by = authors.get(AccountId(entry.by))
    return {
        "id": entry.id,
        "at": time_text(entry.at_ms),
        "by": by.handle if by else None,
        "action": entry.action,
        "target": entry.target,
        "request": entry.request_id,
    }
