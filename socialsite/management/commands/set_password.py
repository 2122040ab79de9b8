"""manage.py set_password HANDLE [--password P|--password-stdin]"""

from typing import Any

from socialsite.container import Services
from socialsite.management.account_command import PasswordCommand, get_existing_account, record_action


class Command(PasswordCommand):
    help = "Give an account another password; its open sessions end."

    async def perform(self, services: Services, options: dict[str, Any]) -> str:
        account = await get_existing_account(services, options["handle"])
        if options["dry_run"]:
            return f"Would set the password of @{account.handle} and end its sessions."
        await record_action(services, "password", account)
        await services.accounts.set_password(account=account, new=options["new_password"])
        return f"The password of @{account.handle} is set; its sessions ended."
