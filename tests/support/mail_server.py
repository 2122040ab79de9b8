"""A real SMTP server that accepts, refuses, hangs or cuts the connection at a stage that the test names."""

import asyncio
import email
import email.policy
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any, Literal

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.support.ports import free_port

Stage = Literal["EHLO", "MAIL", "RCPT", "DATA", "END"]
Fault = Literal["4", "5", "hang", "cut"]
STAGES: tuple[Stage, ...] = ("EHLO", "MAIL", "RCPT", "DATA", "END")


class MailServer:
    """Records the accepted messages. `faults` has the fault of the next dialogue; each is used once."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []
        self.recipients: list[list[str]] = []
        self.faults: list[tuple[Stage, Fault]] = []
        self.dialogues = 0
        self._released = asyncio.Event()
        self.port = free_port()
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port)

    @contextmanager
    def running(self) -> Iterator["MailServer"]:
        self._controller.start()
        try:
            yield self
        finally:
            self._controller.loop.call_soon_threadsafe(self._released.set)
            self._controller.stop()

    def to(self, address: str) -> list[EmailMessage]:
        return [message for message in self.messages if message["To"] == address]

    async def _fail_at(self, stage: Stage, server: SMTP) -> str | None:
        """Return the refusal at this stage, cut or hold the connection, or return None."""
        if not self.faults or self.faults[0][0] != stage:
            return None
        _stage, fault = self.faults.pop(0)
        if fault in ("4", "5"):
            return f"{fault}50 {fault}.1.1 not <now>"
        if fault == "hang":
            await self._released.wait()
        server.transport.abort()  # type: ignore[union-attr]
        await asyncio.Event().wait()
        return None

    # The hooks of aiosmtpd

    async def handle_EHLO(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        self.dialogues += 1
        refusal = await self._fail_at("EHLO", server)
        session.host_name = hostname
        return [refusal] if refusal else responses

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.mail_from = address
        return await self._fail_at("MAIL", server) or "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.rcpt_tos.append(address)
        return await self._fail_at("RCPT", server) or "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        refusal = await self._fail_at("DATA", server)
        if refusal:
            return refusal
        self.recipients.append(envelope.rcpt_tos)
        content: Any = envelope.content
        self.messages.append(email.message_from_bytes(content, policy=email.policy.default))
        return await self._fail_at("END", server) or "250 Accepted"


@contextmanager
def mail_server(settings: Any, timeout_s: float = 1.0) -> Iterator[MailServer]:
    """Run a server, and make it the mail server of the site of this process."""
    with MailServer().running() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", server.port, timeout_s
        yield server


def link_in(message: EmailMessage) -> str:
    """Return the path and query of the first link of the site in the text part."""
    body = message.get_body(("plain",))
    assert body is not None
    lines = body.get_content().splitlines()
    (url,) = [line for line in lines if "?token=" in line]
    return "/" + str(url).split("/", 3)[3]
