"""manage.py check_mail ADDRESS: send a test mail now, and print the answer of the mail server if it fails."""

import asyncio
import smtplib
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from accounts.addresses import InvalidAddress, normalize_address
from accounts.domain import NO_ACCOUNT_ID
from accounts.mail.message import build_message, sender
from accounts.mail.service import new_mail_id
from accounts.mail.values import SendMail
from socialsite.container import Services
from socialsite.management.base import OperatorCommand


class Command(OperatorCommand):
    help = "Send a test mail to an address."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("address")

    def prepare_options(self, options: dict[str, Any]) -> None:
        try:
            options["address"] = normalize_address(options["address"])
        except InvalidAddress:
            raise CommandError(f"{options['address']} is not a mail address.") from None

    async def handle_async(self, services: Services, options: dict[str, Any]) -> None:
        now_ms = services.clock.now_ms()
        job = SendMail(NO_ACCOUNT_ID, new_mail_id(now_ms), "test", options["address"], "", now_ms)
        name = services.site.settings.title
        try:
            await asyncio.to_thread(build_message(job, {}, name).send)
        except (OSError, smtplib.SMTPException) as error:
            raise CommandError(f"The mail was not sent: {error}") from error
        target = f"a file in {settings.MAIL_ROOT}" if not settings.MAIL_URL else f"the server {settings.EMAIL_HOST}"
        self.print_line(f"The mail from {sender(name)} to {options['address']} was given to {target}.")
