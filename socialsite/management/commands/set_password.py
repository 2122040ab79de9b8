"""manage.py set_password HANDLE [--password P|--password-stdin]"""

from typing import Any

from django.core.management.base import CommandParser

from socialsite.management.account_command import (
    AccountCommand,
    add_password_arguments,
    existing,
    password_of,
)
from socialsite.services import Services


class Command(AccountCommand):
    help = "Give an account another password; its open sessions end."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_password_arguments(parser)

    def prepare(self, options: dict[str, Any]) -> None:
        options["chosen"] = password_of(self, options)

    async def act(self, services: Services, options: dict[str, Any]) -> str:
        account = await existing(services, options["handle"])
        if options["dry_run"]:
            return f"Would set the password of @{account.handle} and end its sessions."
        await services.accounts.set_password(account=account, new=options["chosen"])
        return f"The password of @{account.handle} is set; its sessions ended."
