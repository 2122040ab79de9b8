"""manage.py create_token HANDLE [--scopes "read write"] [--name NAME]"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.oauth.scopes import are_known, parse_scopes
from accounts.sessions.values import TokenGrant
from socialsite.container import Services
from socialsite.management.account_command import AccountCommand, get_existing_account, record_action


class Command(AccountCommand):
    help = "Print a new access token of an account, for bots and scripts. It is shown only once."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--scopes", default="read", help='what the token permits, for example "read write"')
        parser.add_argument("--name", default="create_token", help="the name on the page Apps and sessions")

    async def perform(self, services: Services, options: dict[str, Any]) -> str:
        account, scopes = await get_existing_account(services, options["handle"]), parse_scopes(options["scopes"])
        if not scopes or not are_known(scopes):
            raise CommandError(f'These scopes are unknown: "{options["scopes"]}".')
        if not account.is_active:
            raise CommandError(f"@{account.handle} is suspended.")
        if options["dry_run"]:
            return f"Would create a token of @{account.handle} for: {' '.join(scopes)}."
        await record_action(services, "token", account, options["scopes"])
        return await services.access_tokens.issue(account, TokenGrant("", options["name"], scopes))
