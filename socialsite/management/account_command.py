"""The base class of the account commands, with the handle, --dry-run and passwords."""

import getpass
import sys
from abc import abstractmethod
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from accounts.accounts.passwords import PASSWORD_MAX_LENGTH
from accounts.models import Account
from socialsite.admin.audit_log import OPERATOR, AuditLog
from socialsite.container import Services
from socialsite.errors import ApiError
from socialsite.management.base import OperatorCommand


class AccountCommand(OperatorCommand):
    """A command for one account. It prints the line that `perform` returns."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("handle", help="the account's handle, with or without @")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        options["handle"] = options["handle"].removeprefix("@")
        try:
            super().handle(*args, **options)
        except ApiError as error:
            texts = [str(text) for text in error.fields.values()] or [str(error.message)]
            raise CommandError(f"@{options['handle']}: {' '.join(texts)}") from error

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        self.print_line(await self.perform(services, options))

    @abstractmethod
    async def perform(self, services: Services, options: dict[str, Any]) -> str:
        """Do the work and return the line to print. If options["dry_run"] is set, write nothing."""


async def get_existing_account(services: Services, handle: str) -> Account:
    """Return the account if it is not deleted. Raises CommandError."""
    account = await services.accounts.find_by_handle(handle)
    if account is None:
        raise CommandError(f"There is no account @{handle}.")
    if account.state == "deleted":
        raise CommandError(f"@{handle} is deleted, which cannot be undone.")
    return account


async def record_action(services: Services, action: str, account: Account, detail: str = "") -> None:
    """Write an action of the operator to the audit log, before the action."""
    await AuditLog(services.store).record(OPERATOR, action, f"account:{account.id}", detail)


class PasswordCommand(AccountCommand):
    """A command for one account and its new password, which is options["new_password"]."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        group = parser.add_mutually_exclusive_group()
        group.add_argument("--password", help="seen by others in the list of processes: rather use the next one")
        group.add_argument("--password-stdin", action="store_true", help="read the password from standard input")

    def prepare_options(self, options: dict[str, Any]) -> None:
        options["new_password"] = _read_password(options)


def _read_password(options: dict[str, Any]) -> str:
    """Return the password from the options, or read it from the terminal.

    Raises CommandError if there is no password, or if it is weak.
    """
    if options["password"] is not None:
        password = str(options["password"])
    elif options["password_stdin"]:
        password = sys.stdin.readline().rstrip("\r\n")
    elif sys.stdin.isatty():
        password = getpass.getpass("Password: ")
    else:
        raise CommandError("Give the password by --password-stdin or --password.")
    if not 0 < len(password) <= PASSWORD_MAX_LENGTH:
        raise CommandError(f"A password has 1 to {PASSWORD_MAX_LENGTH} characters.")
    try:
        validate_password(password, Account(handle=options["handle"]))
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from error
    return password
