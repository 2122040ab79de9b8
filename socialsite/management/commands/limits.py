"""manage.py limits show [@HANDLE | ADDRESS] | limits reset @HANDLE | ADDRESS: show or reset rate limits.

Without a handle or address, `show` lists the configured rules and the most active accounts. Hits of accounts are
counted by id, log-ins also by the handle that the client sent, and hits of IPv6 addresses by their
/64 network and their /48.
"""

import contextlib
import ipaddress
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.core.management.base import CommandError, CommandParser

from accounts.accounts.validation import InvalidHandle, normalize_handle
from socialsite.admin.activity import find_most_active
from socialsite.container import Services
from socialsite.limits import ACCOUNTS_PER_ADDRESS, NETWORKS_PER_HANDLE, limited_names
from socialsite.management.base import OperatorCommand
from socialsite.recipes.rate_limit import MINUTE_MS, Identifier, Rule


class LimitTarget(NamedTuple):
    """A limited account, handle or address: its name for the operator and the rules that apply to it."""

    name: str
    identifier: Identifier
    rules: Sequence[Rule]


class Command(OperatorCommand):
    help = "Show or reset the counters of rate limits for an account or address."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="show|reset")
        show = actions.add_parser("show", help="the rules, or the counters of an account or address")
        show.add_argument("subject", nargs="?", metavar="@HANDLE|ADDRESS")
        show.add_argument("--minutes", type=int, default=10, metavar="N", help="of the most active accounts")
        show.add_argument("--json", action="store_true", help="for programs")
        reset = actions.add_parser("reset", help="delete the counters, so that the account or address may continue")
        reset.add_argument("subject", metavar="@HANDLE|ADDRESS")
        reset.add_argument("--rule", metavar="NAME", help="only this rule")
        reset.add_argument("--dry-run", action="store_true", help="show what would be reset")

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        output = await self._perform(services, options)
        if options.get("json"):
            self.stdout.write(json.dumps(output))
        else:
            self.print_line("\n".join(format_text(output)))

    async def _perform(self, services: Services, options: dict[str, Any]) -> dict[str, Any]:
        if options["subject"] is None:
            return await read_overview(services, options["minutes"])
        targets = await find_targets(services, options["subject"])
        if options["action"] == "reset":
            return await reset_limits(services, targets, options["rule"], dry_run=options["dry_run"])
        usage = await read_usage(services, targets)
        is_counted = any(row["this_minute"] or row["minute_before"] for row in usage)
        if targets[0].name.startswith("log-ins") and not is_counted:
            raise CommandError(f"There is no account {options['subject']}, and no log-in with this name is counted.")
        return {"usage": usage}


async def find_targets(services: Services, text: str) -> list[LimitTarget]:
    """Return the limits of a handle or an address. Raises CommandError if the text is neither."""
    rules = [rule for rule in services.rules.values() if rule.limit is not None]
    logins = [_multiply(rule, NETWORKS_PER_HANDLE) for rule in rules if rule.name == "login"]
    with contextlib.suppress(ValueError):
        address = str(ipaddress.ip_address(text))
        address_rules = [address_rule(rule) for rule in rules]
        return [
            LimitTarget(name, Identifier.address(name), [_multiply(rule, factor) for rule in address_rules])
            for name, factor in limited_names(address).items()
        ]
    try:
        handle = normalize_handle(text.removeprefix("@"))
    except InvalidHandle as error:
        raise CommandError(f"{text!r} is neither a handle nor an address.") from error
    login_target = LimitTarget(f"log-ins as @{handle}", Identifier.handle(handle), logins)
    account = await services.accounts.find_by_handle(handle)
    if account is None:
        return [login_target]
    account_rules = [rule for rule in rules if rule.name not in ("address", "signup")]
    return [LimitTarget(f"@{handle}", Identifier.account(account.id), account_rules), login_target]


def address_rule(rule: Rule) -> Rule:
    """Return the rule for an address. Many accounts may share an address, so some limits are higher."""
    is_shared = rule.name in ("post", "follow", "like", "block", "delete", "search", "complete")
    return _multiply(rule, ACCOUNTS_PER_ADDRESS) if is_shared else rule


def _multiply(rule: Rule, factor: int) -> Rule:
    return Rule(rule.name, rule.limit and rule.limit * factor)


async def read_usage(services: Services, targets: Sequence[LimitTarget]) -> list[dict[str, Any]]:
    """Return the rows of the output. `used` is the weighted count that is compared with the limit."""
    now_ms = services.clock.server_ms()
    return [
        {
            "subject": target.name,
            "rule": stats.rule,
            "limit": stats.limit,
            "this_minute": stats.current,
            "minute_before": stats.previous,
            "used": stats.used_milli / 1000,
        }
        for target in targets
        for stats in await services.limits.read_stats(target.identifier, target.rules, now_ms)
    ]


async def reset_limits(
    services: Services, targets: Sequence[LimitTarget], rule_name: str | None, *, dry_run: bool
) -> dict[str, Any]:
    """Delete the counters, and return the names of the targets that had counters."""
    if rule_name is not None and rule_name not in services.rules:
        raise CommandError(f"There is no rule {rule_name!r}: use {', '.join(sorted(services.rules))}.")
    now_ms, forgotten = services.clock.server_ms(), []
    for target in targets:
        rules = [rule for rule in target.rules if rule_name in (None, rule.name)]
        usage = await services.limits.read_stats(target.identifier, rules, now_ms)
        has_hits = any(stats.current or stats.previous for stats in usage)
        if has_hits and (dry_run or await services.limits.clear(target.identifier, rules, now_ms)):
            forgotten.append(target.name)
    return {"would_forget" if dry_run else "forgot": forgotten}


async def read_overview(services: Services, minutes: int) -> dict[str, Any]:
    """Return the configured rules and the accounts with the most requests in the last minutes."""
    if not 1 <= minutes <= 120:
        raise CommandError("--minutes takes 1 to 120.")
    now_ms = services.clock.now_ms()
    busiest = await find_most_active(services, now_ms - (minutes - 1) * MINUTE_MS, now_ms)
    return {
        "rules": {rule.name: rule.limit for rule in services.rules.values()},
        "minutes": minutes,
        "most_active": [{"account": author.handle, "requests": count} for author, count in busiest],
    }


def format_text(output: dict[str, Any]) -> list[str]:
    if "usage" in output:
        head = f"{'subject':<28} {'rule':<8} {'limit':>6} {'now':>6} {'before':>6} {'used':>8}"
        return [head] + [
            f"{r['subject']:<28} {r['rule']:<8} {r['limit']:>6} {r['this_minute']:>6} "
            f"{r['minute_before']:>6} {r['used']:>8.1f}"
            for r in output["usage"]
        ]
    if "rules" not in output:
        verb, names = next(iter(output.items()))
        verb = verb.replace("_", " ").capitalize()
        return [f"{verb} what was counted for {', '.join(names)}." if names else "Nothing was counted."]
    rules = [f"{name:<8} {'off' if limit is None else f'{limit} a minute'}" for name, limit in output["rules"].items()]
    busy = [f"@{each['account']:<20} {each['requests']:>7}" for each in output["most_active"]]
    return [*rules, "", f"Requests in the last {output['minutes']} minutes:", *(busy or ["none"])]
