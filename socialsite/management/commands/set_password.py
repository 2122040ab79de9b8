"""manage.py set_password HANDLE [--password P|--password-stdin]"""

from typing import Any

from django.core.management.base import CommandParser

from socialsite.container import Services
from socialsite.management.account_command import (
    AccountCommand,
    add_password_arguments,
    get_existing_account,
    read_password,
    record_action,
)


class Command(AccountCommand):
    help = "Give an account another password; its open sessions end."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_password_arguments(parser)

    def prepare_options(self, options: dict[str, Any]) -> None:
        options["new_password"] = read_password(options)

    async def perform(self, services: Services, options: dict[str, Any]) -> str:
        account = await get_existing_account(services, options["handle"])
        if options["dry_run"]:
            return f"Would set the password of @{account.handle} and end its sessions."
        await record_action(services, "password", account)
        await services.accounts.set_password(account=account, new=options["new_password"])
        return f"The password of @{account.handle} is set; its sessions ended."
