"""manage.py stats [--hours N] [--json]: the recent statistics of the site, from its time series.

Counts are at most a second old. `build_report` builds the JSON. Its times are in Unix ms, and its latencies in ms.
"""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from socialsite.admin.activity import HOUR_MS, find_most_active, read_activity
from socialsite.analytics.metrics import ACCOUNTS_BY_POSTS
from socialsite.container import Services
from socialsite.management.base import OperatorCommand

MAX_HOURS = 24 * 730


class Command(OperatorCommand):
    help = "Show the recent statistics: posts, deliveries, visits, limits, errors, latency of deliveries."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--hours", type=int, default=24, metavar="N", help="how far back; default 24")
        parser.add_argument("--json", action="store_true", help="for programs; with the points over time")

    def prepare_options(self, options: dict[str, Any]) -> None:
        if not 1 <= options["hours"] <= MAX_HOURS:
            raise CommandError(f"--hours takes 1 to {MAX_HOURS}.")

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        report = await build_report(services, options["hours"])
        if options["json"]:
            self.stdout.write(json.dumps(report))
        else:
            self.print_line("\n".join(format_text(report)))


async def build_report(services: Services, hours: int) -> dict[str, Any]:
    """Return sums, points and latencies of the last hours, active accounts, and the sizes of outbox and buffers."""
    stats, now_ms = services.statistics.stats, services.clock.now_ms()
    start_ms = now_ms - hours * HOUR_MS
    activity = await read_activity(services, hours * HOUR_MS)
    posters = await find_most_active(services, start_ms, now_ms, ACCOUNTS_BY_POSTS)
    return {
        "at": now_ms,
        "hours": hours,
        "totals": await stats.site_totals(start_ms, now_ms, now_ms=now_ms),
        "latency": asdict(await stats.latency(start_ms, now_ms, now_ms=now_ms)),
        "refusals": activity.refusals,
        "errors": activity.errors,
        "active_accounts": dict(zip(("day", "week", "month"), activity.active, strict=True)),
        "most_active": [{"account": author.handle, "count": count} for author, count in activity.busiest],
        "posters": [{"account": author.handle, "count": count} for author, count in posters],
        "outbox": asdict(await services.outbox.read_depth()),
        "buffers": await services.statistics.buffers.count_waiting(),
        "points": {name: [[p.at_ms, p.count] for p in points] for name, points in activity.trends.items()},
    }


def format_text(report: dict[str, Any]) -> list[str]:
    latency, active, outbox = report["latency"], report["active_accounts"], report["outbox"]
    posters = ", ".join(f"@{each['account']} {each['count']}" for each in report["posters"])
    lines = [f"In the last {report['hours']} hours:"]
    lines += [f"  {name:<12} {count:>12,}" for name, count in report["totals"].items()]
    lines += [f"  {'refused':<12} {count:>12,} by {rule}" for rule, count in report["refusals"].items()]
    lines += [f"  {'failed':<12} {count:>12,} with {status}" for status, count in report["errors"].items()]
    lines += [f"Post to home: {_format_latency(latency['p50_ms'], latency['p99_ms'])}."]
    lines += [f"Active accounts: {active['day']} today, {active['week']} in 7 days, {active['month']} in 30."]
    lines += [f"Most posts: {posters or 'none'}."]
    lines += [f"Outbox: {outbox['waiting']} waiting, {outbox['pending']} pending, {outbox['dead']} dead letters."]
    return [*lines, f"Buffers: {report['buffers']} to flush."]


def _format_latency(p50_ms: float | None, p99_ms: float | None) -> str:
    if p50_ms is None or p99_ms is None:
        return "nothing was delivered"
    return f"median {p50_ms:,.0f} ms, 99% within {p99_ms:,.0f} ms"
