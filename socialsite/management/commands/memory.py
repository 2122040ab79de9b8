"""manage.py memory: show bytes by key family and by account, what to trim, and when the memory is full."""

import io
import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser
from rich.console import Console
from rich.table import Table

from socialsite.container import Services
from socialsite.maintenance.memory import POST_FAMILY, SAMPLE_SIZE, Forecast, MemoryMeter, MemoryReport, make_forecast
from socialsite.maintenance.scanning import count_keys
from socialsite.management.base import OperatorCommand
from timelines.audit.account_keys import owned_keys

COLD_DAYS = 90
ARCHIVED_POST_BYTES = 72
"""Bytes of a post's key if its body is in the archive (measured by MEMORY USAGE)."""
NOTABLE_SHARE = 0.2


class Command(OperatorCommand):
    help = "Show the memory by key family, what could be trimmed, and when the memory is full."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--sample", type=int, default=SAMPLE_SIZE, metavar="N",
                            help=f"measure about N keys; default {SAMPLE_SIZE}")  # fmt: skip
        parser.add_argument("--json", action="store_true", help="for programs")

    def prepare_options(self, options: dict[str, Any]) -> None:
        if options["sample"] < 1:
            raise CommandError("--sample takes 1 or more.")

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        meter, config = MemoryMeter(services.store, sample_size=options["sample"]), services.config
        with self.progress_bar("Keys", await count_keys(services.store)) as step:
            report = await meter.measure(services.clock.now_ms(), step)
        last_id = await services.repositories.accounts.last_id()
        partitions = config.follow_partitions, config.profile_partitions
        accounts = await meter.measure_accounts(last_id, lambda account_id: owned_keys(account_id, *partitions))
        forecast = make_forecast(report, config.home_cap, config.memory_reserve)
        if options["json"]:
            self.stdout.write(json.dumps(report_as_json(report, accounts, forecast), indent=2))
            return
        self._print_report(report, accounts, forecast)

    def _print_report(self, report: MemoryReport, accounts: tuple[int, int, int] | None, forecast: Forecast) -> None:
        if self.verbosity > 0:
            text = io.StringIO()
            Console(file=text, width=110).print(build_table(report))
            self.stdout.write(text.getvalue())
        for node in report.nodes:
            limit = f" of {format_mb(node.most)}" if node.most else ", no maxmemory is set"
            self.print_line(f"{node.address}: {format_mb(node.used)} used{limit}, {node.keys} keys.")
        if accounts:
            least, median, most = accounts
            self.print_line(f"An account without its posts: {least} to {most} bytes, half of them below {median}.")
        self.print_line(describe_forecast(report, forecast))
        for line in suggest_trims(report):
            self.print_line(f"To trim: {line}")


def build_table(report: MemoryReport) -> Table:
    table = Table("family", "keys", "MB", "bytes a key", "compact", box=None)
    for name, family in sorted(report.families.items(), key=lambda pair: -pair[1].bytes):
        share = family.compact_share
        table.add_row(
            name, str(family.keys), f"{family.bytes / 1e6:.2f}", f"{family.bytes_per_key:.0f}",
            "" if share is None else f"{share:.0%}",
        )  # fmt: skip
    return table


def describe_forecast(report: MemoryReport, forecast: Forecast) -> str:
    if not forecast.bytes_a_post:
        return "There are no posts, so there is no forecast."
    if forecast.posts_left is None:
        return f"A post takes {forecast.bytes_a_post:.0f} bytes. Without maxmemory there is no forecast."
    rate = report.posts_per_day()
    days = f": {forecast.days_left:.0f} days at {rate:.0f} posts a day" if forecast.days_left is not None else ""
    return f"A post takes {forecast.bytes_a_post:.0f} bytes; {forecast.posts_left} more fit{days}."


def suggest_trims(report: MemoryReport) -> list[str]:
    """Return sentences that suggest how to free memory, the largest gain first."""
    lines: list[tuple[float, str]] = []
    posts = report.families.get(POST_FAMILY)
    old = report.posts_older_than(COLD_DAYS)
    if posts and old:
        saved = old * max(0.0, posts.bytes_per_key - ARCHIVED_POST_BYTES)
        lines.append((saved, f"`archive_posts --older-than {COLD_DAYS}d` frees {format_mb(saved)} of {old} posts."))
    for name, family in report.families.items():
        if family.bytes < NOTABLE_SHARE * report.bytes:
            continue
        if name.endswith((":home", ":{lN}:posts")):
            half = format_mb(family.bytes / 2)
            lines.append((family.bytes / 2, f"half of HOME_CAP or HOME_TTL_DAYS frees {half} of {name}."))
        if (share := family.compact_share) is not None and share < 1 - NOTABLE_SHARE:
            why = f"only {share:.0%} are compact, see the *-max-listpack-* settings of redis.conf."
            lines.append((family.bytes / 2, f"{name}: {why}"))
    return [line for _, line in sorted(lines, reverse=True)]


def report_as_json(report: MemoryReport, accounts: tuple[int, int, int] | None, forecast: Forecast) -> dict[str, Any]:
    families = {
        name: {"keys": f.keys, "bytes": f.bytes, "weighed": f.sampled_keys, "compact_share": f.compact_share}
        for name, f in report.families.items()
    }
    return {
        "nodes": [asdict(node) for node in report.nodes],
        "families": families,
        "account_bytes": dict(zip(("least", "median", "most"), accounts, strict=True)) if accounts else None,
        "forecast": asdict(forecast),
        "posts_a_day": report.posts_per_day(),
        "advice": suggest_trims(report),
    }


def format_mb(count: float) -> str:
    return f"{count / 1e6:.1f} MB"
