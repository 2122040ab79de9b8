"""manage.py suspend_account HANDLE [--undo]"""

from typing import Any

from django.core.management.base import CommandParser

from accounts.domain import SUSPENDED
from socialsite.admin.audit_log import OPERATOR
from socialsite.admin.moderation import Moderation
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
        account_id, undo = AccountId(account.id), options["undo"]
        is_needed = (account.state == SUSPENDED and not account.is_leaving) == undo
        if options["dry_run"]:
            word = "reinstate" if undo else "suspend"
            return f"Would {word} @{account.handle}." if is_needed else f"Nothing to do for @{account.handle}."
        if undo:
            await Moderation(services).reinstate(OPERATOR, account_id)
        elif is_needed:
            await services.staff.release(account)  # raises LastOwner before the suspension is stored
            await Moderation(services).suspend(OPERATOR, account_id)
        state = (await services.accounts.get(account_id)).state
        return f"@{account.handle} is {state}." if is_needed else f"@{account.handle} is {state} already."
