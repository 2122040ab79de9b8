"""manage.py memory: bytes by key family, by account, what to trim, and how long the memory lasts."""

import io
import json
from dataclasses import asdict
from functools import partial
from typing import Any

from django.core.management.base import CommandError, CommandParser
from rich.console import Console
from rich.table import Table

from socialsite.maintenance.forecast import Caps, Forecast, forecast
from socialsite.maintenance.memory import POST_FAMILY, SAMPLE, MemoryMeter, MemoryReport
from socialsite.maintenance.scanning import key_count
from socialsite.management.operator_command import OperatorCommand
from socialsite.services import Services
from timelines.audit.account_keys import owned_keys

COLD_DAYS = 90
MARKER_BYTES = 72
"""Of a post's key once its body is in the archive (measured by MEMORY USAGE)."""
MUCH = 0.2


class Command(OperatorCommand):
    help = "Show where the memory goes, what could be trimmed, and when it is full."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--sample", type=int, default=SAMPLE, metavar="N",
                            help=f"weigh about N keys; default {SAMPLE}")  # fmt: skip
        parser.add_argument("--json", action="store_true", help="for programs")

    def prepare(self, options: dict[str, Any]) -> None:
        if options["sample"] < 1:
            raise CommandError("--sample takes 1 or more.")

    async def act(self, services: Services, options: dict[str, Any]) -> None:
        meter, config = MemoryMeter(services.store, sample=options["sample"]), services.config
        with self.progress("Keys", await key_count(services.store)) as step:
            report = await meter.measure(services.clock.now_ms(), step)
        last_id = await services.repositories.accounts.last_id()
        parts = {
            "follow_partitions": config.follow_partitions,
            "profile_partitions": config.profile_partitions,
        }
        accounts = await meter.accounts(last_id, partial(owned_keys, **parts))
        ahead = forecast(report, Caps(config.home_cap), config.memory_reserve)
        if options["json"]:
            self.stdout.write(json.dumps(as_json(report, accounts, ahead), indent=2))
            return
        self._tell(report, accounts, ahead)

    def _tell(self, report: MemoryReport, accounts: tuple[int, int, int] | None, ahead: Forecast) -> None:
        if self.verbosity > 0:
            text = io.StringIO()
            Console(file=text, width=110).print(table_of(report))
            self.stdout.write(text.getvalue())
        for node in report.nodes:
            most = f" of {mb(node.most)}" if node.most else ", no maxmemory is set"
            self.say(f"{node.address}: {mb(node.used)} used{most}, {node.keys} keys.")
        if accounts:
            least, middle, most_bytes = accounts
            self.say(
                f"An account without its posts: {least} to {most_bytes} bytes, half of them below {middle}."
            )
        self.say(prospect(report, ahead))
        for line in advice(report):
            self.say(f"To trim: {line}")


def table_of(report: MemoryReport) -> Table:
    table = Table("family", "keys", "MB", "bytes a key", "compact", box=None)
    for name, family in sorted(report.families.items(), key=lambda pair: -pair[1].bytes):
        share = family.compact_share
        table.add_row(
            name, str(family.keys), f"{family.bytes / 1e6:.2f}", f"{family.bytes_a_key:.0f}",
            "" if share is None else f"{share:.0%}",
        )  # fmt: skip
    return table


def prospect(report: MemoryReport, ahead: Forecast) -> str:
    """The forecast in a sentence."""
    if ahead.posts_left is None:
        return f"A post takes {ahead.bytes_a_post:.0f} bytes. Without maxmemory nothing can be foretold."
    rate = report.posts_a_day()
    days = f": {ahead.days_left:.0f} days at {rate:.0f} posts a day" if ahead.days_left is not None else ""
    return f"A post takes {ahead.bytes_a_post:.0f} bytes; {ahead.posts_left} more fit{days}."


def advice(report: MemoryReport) -> list[str]:
    """What would free memory, the most first worth naming."""
    lines: list[tuple[float, str]] = []
    posts = report.families.get(POST_FAMILY)
    old = report.posts_older_than(COLD_DAYS)
    if posts and old:
        saved = old * max(0.0, posts.bytes_a_key - MARKER_BYTES)
        lines.append((saved, f"`archive_posts --older-than {COLD_DAYS}d` frees {mb(saved)} of {old} posts."))
    for name, family in report.families.items():
        if family.bytes < MUCH * report.bytes:
            continue
        if name.endswith((":home", ":{lN}:posts")):
            half = mb(family.bytes / 2)
            lines.append((family.bytes / 2, f"half of HOME_CAP or HOME_TTL_DAYS frees {half} of {name}."))
        if (share := family.compact_share) is not None and share < 1 - MUCH:
            why = f"only {share:.0%} are compact, see the *-max-listpack-* settings of redis.conf."
            lines.append((family.bytes / 2, f"{name}: {why}"))
    return [line for _, line in sorted(lines, reverse=True)]


def as_json(report: MemoryReport, accounts: tuple[int, int, int] | None, ahead: Forecast) -> dict[str, Any]:
    families = {
        name: {"keys": f.keys, "bytes": f.bytes, "weighed": f.weighed, "compact_share": f.compact_share}
        for name, f in report.families.items()
    }
    return {
        "nodes": [asdict(node) for node in report.nodes],
        "families": families,
        "account_bytes": dict(zip(("least", "median", "most"), accounts, strict=True)) if accounts else None,
        "forecast": asdict(ahead),
        "posts_a_day": report.posts_a_day(),
        "advice": advice(report),
    }


def mb(count: float) -> str:
    return f"{count / 1e6:.1f} MB"
