"""An operator with a mail address, and checks that a test makes."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.utils.translation import activate
from msgspec import structs

from socialsite.alerts.service import AlertService
from socialsite.container import Services
from socialsite.startup import open_services
from tests.support.mail_server import MailServer, mail_server
from tests.support.world import Person

ADDRESS = "sam@example.org"


@dataclass
class OperatorMail:
    """The mails to Sam, who may operate the site."""

    services: Services
    smtp: MailServer
    sam: Person
    seen: int = field(default=0, init=False)

    async def check(self, times: int = 1) -> list[str]:
        """Make the checks, send the mails, and return the subjects of the mails that arrived."""
        for _ in range(times):
            await AlertService(self.services).check()
        return await self.receive()

    async def receive(self) -> list[str]:
        queue = self.services.mail_queue
        await queue.create_group()
        while jobs := await queue.fetch("abad1dea", 10, 1):
            for job in jobs:
                await self.services.mail_sending.handle(job.payload)
                await queue.finish(job)
        subjects = [re.sub(r"^[^:]+: ", "", str(message["Subject"])) for message in self.smtp.messages[self.seen :]]
        self.seen = len(self.smtp.messages)
        return subjects

    def last_text(self) -> str:
        body = self.smtp.messages[-1].get_body(("plain",))
        assert body is not None
        return str(body.get_content())

    async def choose(self, **choices: Any) -> None:
        await self.services.accounts.change_preferences(
            account_id=self.sam.id, change=lambda old: structs.replace(old, **choices)
        )


async def make_operator(services: Services, smtp: MailServer) -> OperatorMail:
    account = await services.accounts.sign_up(
        handle="sam", password=None, now_ms=services.clock.now_ms(), staff=True, allow_reserved=True
    )
    sam = Person(services, account)
    await services.mail.mails.change(sam.id, address=ADDRESS, language="en")
    await services.outbox.create_group()
    await services.outbox.send_heartbeat("abad1dea")  # a worker of this process
    return OperatorMail(services, smtp, sam)


@pytest.fixture
async def operator(services: Services, settings: Any) -> AsyncIterator[OperatorMail]:
    async with _opened_operator(services, settings) as opened:
        yield opened


@pytest.fixture
async def plain_operator(redis_url: str, settings: Any) -> AsyncIterator[OperatorMail]:
    """The operator of a site on one plain server, which the test changes."""
    async with open_services(redis_url) as services, _opened_operator(services, settings) as opened:
        yield opened


@asynccontextmanager
async def _opened_operator(services: Services, settings: Any) -> AsyncIterator[OperatorMail]:
    activate("en")
    settings.SITE_URL, settings.ALERT_BACKUP_AGE_HOURS = "http://localhost", 0
    with mail_server(settings) as smtp:
        yield await make_operator(services, smtp)
