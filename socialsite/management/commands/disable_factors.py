"""manage.py disable_factors HANDLE"""

from typing import Any

from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.management.account_command import AccountCommand, get_existing_account, record_action


class Command(AccountCommand):
    help = "Remove all second factors of an account whose owner cannot log in, and end its sessions."

    async def perform(self, services: Services, options: dict[str, Any]) -> str:
        account = await get_existing_account(services, options["handle"])
        account_id = AccountId(account.id)
        if not (await services.factors.find(account_id)).encoded:
            return f"@{account.handle} has no second factor."
        if options["dry_run"]:
            return f"Would remove the second factors of @{account.handle} and end its sessions."
        await record_action(services, "factors", account)
        await services.sessions.end_all(account_id)  # first: while factors are left, the command can be repeated
        await services.factors.disable(account_id)
        return f"The second factors of @{account.handle} are removed; its sessions ended."
