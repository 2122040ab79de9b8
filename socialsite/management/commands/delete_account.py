"""manage.py delete_account HANDLE --no-input"""

import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.domain import DELETED
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.management.account_command import AccountCommand, record_action


class Command(AccountCommand):
    help = "Delete an account for good, with its posts, follows and lists. Its handle is never assigned again."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--no-input", "--noinput", action="store_false", dest="interactive", help="do not ask")

    def prepare_options(self, options: dict[str, Any]) -> None:
        if options["dry_run"] or not options["interactive"]:
            return
        if not sys.stdin.isatty():
            raise CommandError("There is no terminal for the confirmation: give --no-input.")
        if input(f"Type {options['handle']} to delete it for good: ") != options["handle"]:
            raise CommandError("Nothing was deleted.")

    async def perform(self, services: Services, options: dict[str, Any]) -> str:
        account = await services.accounts.find_by_handle(options["handle"])
        if account is None:
            raise CommandError(f"There is no account @{options['handle']}.")
        if options["dry_run"]:
            is_deleted = account.state == DELETED
            return f"@{account.handle} is deleted already." if is_deleted else f"Would delete @{account.handle}."
        if is_first := account.state != DELETED:
            await record_action(services, "delete", account)
        await services.accounts.delete(account_id=AccountId(account.id))  # a worker may delete the account before
        return f"Deleted @{account.handle}." if is_first else f"@{account.handle} was deleted; swept it again."
