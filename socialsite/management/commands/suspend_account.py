"""manage.py suspend_account HANDLE [--undo]"""

from typing import Any

from django.core.management.base import CommandParser

from accounts.domain import SUSPENDED
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.management.account_command import AccountCommand, get_existing_account


class Command(AccountCommand):
    help = "Hide an account and sign it out everywhere, until --undo."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--undo", action="store_true", help="show the account again")

    async def perform(self, services: Services, options: dict[str, Any]) -> str:
        account = await get_existing_account(services, options["handle"])
        undo, word = options["undo"], "reinstate" if options["undo"] else "suspend"
        if options["dry_run"]:
            is_needed = (account.state == SUSPENDED) == undo
            return f"Would {word} @{account.handle}." if is_needed else f"Nothing to do for @{account.handle}."
        change = services.joining.reinstate if undo else services.accounts.suspend
        changed = await change(account_id=AccountId(account.id))
        state = (await services.accounts.get(AccountId(account.id))).state
        return f"@{account.handle} is {state}." if changed else f"@{account.handle} is {state} already."
