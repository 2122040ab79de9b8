"""manage.py set_role HANDLE moderator|admin|owner|none"""

from typing import Any

from django.core.management.base import CommandParser

from accounts.roles import ROLES, Role
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.management.account_command import AccountCommand, get_existing_account, record_action


class Command(AccountCommand):
    help = "Give an account a role of staff, or take it. The last owner keeps the role."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("role", choices=(*ROLES, "none"))

    async def perform(self, services: Services, options: dict[str, Any]) -> str:
        account = await get_existing_account(services, options["handle"])
        role: Role = "" if options["role"] == "none" else options["role"]
        if options["dry_run"]:
            word = "Nothing to do for" if account.role == role else "Would change the role of"
            return f"{word} @{account.handle}."
        if account.role != role:
            await record_action(services, "role", account, f"role:{options['role']}")
        changed = await services.staff.set_role(AccountId(account.id), role)
        word = "is" if changed else "was already"
        return f"@{account.handle} {word} {role or 'without a role'}."
