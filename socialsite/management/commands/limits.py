"""manage.py limits show [@HANDLE | ADDRESS] | limits reset @HANDLE | ADDRESS: rate limits for operators.

Without a subject `show` lists the rules of the settings and the most active accounts. An account is counted
by its id, and log-ins besides by the handle that was tried; an IPv6 address by its /64.
"""

import asyncio
import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.handles import InvalidHandle, normalize_handle
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.management.site_command import SiteCommand
from socialsite.recipes.rate_limit import MINUTE_MS, Identifier, Rule, WindowStats
from socialsite.startup import open_services
from socialsite.store.errors import StoreError
from socialsite.web.limits import ACCOUNTS_PER_ADDRESS

ACTIVE_ACCOUNTS_SHOWN = 10  # accounts


@dataclass(frozen=True, slots=True)
class LimitTarget:
    """A subject of limits, as an operator names it, and the rules that count it."""

    name: str
    identifier: Identifier
    rules: Sequence[Rule]


class Command(SiteCommand):
    help = "Show what rate limits have counted for an account or address, or forget it."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="show|reset")
        show = actions.add_parser("show", help="the rules, or what they have counted for a subject")
        show.add_argument("subject", nargs="?", metavar="@HANDLE|ADDRESS")
        show.add_argument("--minutes", type=int, default=10, metavar="N", help="of the most active accounts")
        show.add_argument("--json", action="store_true", help="for programs")
        reset = actions.add_parser("reset", help="forget what was counted, so that the subject may go on")
        reset.add_argument("subject", metavar="@HANDLE|ADDRESS")
        reset.add_argument("--rule", metavar="NAME", help="only this rule")
        reset.add_argument("--dry-run", action="store_true", help="show what would be forgotten")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = asyncio.run(self._run(options))
        except StoreError as error:
            raise CommandError(f"The store cannot be used: {error}") from error
        if options.get("json"):
            self.stdout.write(json.dumps(found))
        elif options["verbosity"] > 0:
            self.stdout.write("\n".join(format_text(found)))

    async def _run(self, options: dict[str, Any]) -> dict[str, Any]:
        async with open_services() as services:
            if options["subject"] is None:
                return await read_overview(services, options["minutes"])
            counted = await find_targets(services, options["subject"])
            if options["action"] == "reset":
                return await reset_limits(services, counted, options["rule"], dry_run=options["dry_run"])
            return {"usage": await read_usage(services, counted)}


async def find_targets(services: Services, text: str) -> list[LimitTarget]:
    """What counts for a handle or an address. Raises CommandError for what is neither."""
    rules = [rule for rule in services.rules.values() if rule.limit is not None]
    logins = [rule for rule in rules if rule.name == "login"]
    try:
        if not text.startswith("@"):
            address = str(ipaddress.ip_address(text))
            return [LimitTarget(address, Identifier.address(address), [address_rule(rule) for rule in rules])]
    except ValueError:
        pass
    try:
        handle = normalize_handle(text.removeprefix("@"))
    except InvalidHandle as error:
        raise CommandError(f"{text!r} is neither a handle nor an address.") from error
    tried = LimitTarget(f"log-ins as @{handle}", Identifier.handle(handle), logins)
    account = await services.accounts.find_by_handle(handle)
    if account is None:
        return [tried]
    own = [rule for rule in rules if rule.name not in ("address", "signup")]
    return [LimitTarget(f"@{handle}", Identifier.account(account.id), own), tried]


def address_rule(rule: Rule) -> Rule:
    """What members do is counted for their address, too, which many may share."""
    is_shared = rule.name in ("post", "follow", "search", "complete")
    return Rule(rule.name, rule.limit and rule.limit * ACCOUNTS_PER_ADDRESS) if is_shared else rule


async def read_usage(services: Services, counted: Sequence[LimitTarget]) -> list[dict[str, Any]]:
    now_ms = services.clock.now_ms()
    return [
        usage_row(each.name, used)
        for each in counted
        for used in await services.limits.read_stats(each.identifier, each.rules, now_ms)
    ]


def usage_row(name: str, used: WindowStats) -> dict[str, Any]:
    """`used` is the weighted minute that is held against the limit."""
    return {
        "subject": name,
        "rule": used.rule,
        "limit": used.limit,
        "this_minute": used.current,
        "minute_before": used.previous,
        "used": used.used_milli / 1000,
    }


async def reset_limits(
    services: Services, counted: Sequence[LimitTarget], rule_name: str | None, *, dry_run: bool
) -> dict[str, Any]:
    """The subjects that had something to forget."""
    if rule_name is not None and rule_name not in services.rules:
        raise CommandError(f"There is no rule {rule_name!r}: use {', '.join(sorted(services.rules))}.")
    now_ms, forgotten = services.clock.now_ms(), []
    for each in counted:
        rules = [rule for rule in each.rules if rule_name in (None, rule.name)]
        found = await services.limits.read_stats(each.identifier, rules, now_ms)
        had = any(used.current or used.previous for used in found)
        if had and (dry_run or await services.limits.clear(each.identifier, rules, now_ms)):
            forgotten.append(each.name)
    return {"would_forget" if dry_run else "forgot": forgotten}


async def read_overview(services: Services, minutes: int) -> dict[str, Any]:
    """The rules of the settings, and who asked most in the last minutes."""
    if not 1 <= minutes <= 120:
        raise CommandError("--minutes takes 1 to 120.")
    now_ms, figures = services.clock.now_ms(), services.statistics.stats
    best = await figures.most_active(now_ms - (minutes - 1) * MINUTE_MS, now_ms, ACTIVE_ACCOUNTS_SHOWN, now_ms=now_ms)
    authors = await services.accounts.find_authors([AccountId(id) for id, _ in best])
    named = [(authors[AccountId(id)].handle, count) for id, count in best if AccountId(id) in authors]
    return {
        "rules": {rule.name: rule.limit for rule in services.rules.values()},
        "minutes": minutes,
        "most_active": [{"account": handle, "requests": count} for handle, count in named],
    }


def format_text(found: dict[str, Any]) -> list[str]:
    """For people."""
    if "usage" in found:
        head = f"{'subject':<28} {'rule':<8} {'limit':>6} {'now':>6} {'before':>6} {'used':>8}"
        return [head] + [
            f"{r['subject']:<28} {r['rule']:<8} {r['limit']:>6} {r['this_minute']:>6} "
            f"{r['minute_before']:>6} {r['used']:>8.1f}"
            for r in found["usage"]
        ]
    if "rules" not in found:
        verb, names = next(iter(found.items()))
        verb = verb.replace("_", " ").capitalize()
        return [f"{verb} what was counted for {', '.join(names)}." if names else "Nothing was counted."]
    rules = [f"{name:<8} {'off' if limit is None else f'{limit} a minute'}" for name, limit in found["rules"].items()]
    busy = [f"@{each['account']:<20} {each['requests']:>7}" for each in found["most_active"]]
    return [*rules, "", f"Requests in the last {found['minutes']} minutes:", *(busy or ["none"])]
