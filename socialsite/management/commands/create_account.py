"""manage.py create_account HANDLE [--password P|--password-stdin] [--staff] [--role R]"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.accounts.validation import validate_handle
from accounts.roles import OWNER, ROLES, Role
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.management.account_command import PasswordCommand, record_action


class Command(PasswordCommand):
    help = "Create an account. Handles that are reserved from sign-up may be used here."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--staff", action="store_true", help="may see the pages of staff; the first one is an owner"
        )
        parser.add_argument("--role", choices=ROLES, default="", help="the role of staff (see docs/reference/admin.md)")

    async def perform(self, services: Services, options: dict[str, Any]) -> str:
        handle = validate_handle(options["handle"], allow_reserved=True)
        role: Role = options["role"] or (OWNER if options["staff"] else "")
        existing = await services.accounts.find_by_handle(handle)
        if existing is not None:
            is_same = existing.is_active and existing.role == role
            if not is_same or not await services.accounts.check_password(existing, options["new_password"]):
                raise CommandError(f"@{handle}: This handle is taken.")
            return f"@{handle} exists already; nothing changed."
        if options["staff"] and not options["role"] and await services.staff.has_owner():
            raise CommandError("The site has an owner. Choose --role moderator, --role admin or --role owner.")
        if options["dry_run"]:
            return f"Would create @{handle}."
        account = await services.accounts.sign_up(
            handle=handle, password=options["new_password"], now_ms=services.clock.now_ms(), allow_reserved=True
        )
        if role:
            await record_action(services, "role", account, f"role:{role}")
            await services.staff.set_role(AccountId(account.id), role)
        return f"Created @{handle} (id {account.id})."
