"""manage.py create_account HANDLE [--password P|--password-stdin] [--staff]"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.accounts.validation import validate_handle
from accounts.models import Account
from socialsite.container import Services
from socialsite.management.account_command import AccountCommand, add_password_arguments, read_password


class Command(AccountCommand):
    help = "Create an account. Handles that are reserved from sign-up may be used here."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_password_arguments(parser)
        parser.add_argument("--staff", action="store_true", help="may see the operator's pages (/ops/)")

    def prepare_options(self, options: dict[str, Any]) -> None:
        options["new_password"] = read_password(options)

    async def perform(self, services: Services, options: dict[str, Any]) -> str:
        handle = validate_handle(options["handle"], allow_reserved=True)
        existing = await services.accounts.find_by_handle(handle)
        if existing is not None:
            await _require_same_account(services, existing, options)
            return f"@{handle} exists already; nothing changed."
        if options["dry_run"]:
            return f"Would create @{handle}."
        account = await services.accounts.sign_up(
            handle=handle,
            password=options["new_password"],
            now_ms=services.clock.now_ms(),
            staff=options["staff"],
            allow_reserved=True,
        )
        return f"Created @{handle} (id {account.id})."


async def _require_same_account(services: Services, account: Account, options: dict[str, Any]) -> None:
    """Raise CommandError unless the account equals the account that the command would create."""
    is_same = account.is_active and account.is_staff == options["staff"]
    if not is_same or not await services.accounts.check_password(account, options["new_password"]):
        raise CommandError(f"@{account.handle}: This handle is taken.")
