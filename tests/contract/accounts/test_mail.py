"""Mails are sent once or visibly fail, whatever the mail server does."""

import asyncio
import email
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from accounts.mail.links import address_digest
from accounts.mail.values import RETRY_DELAYS_MS, SendMail, SentMail, encode_job
from socialsite.clock import DAY_MS, FixedClock
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.recipes.job_worker import Worker
from socialsite.store import Store
from tests.support.mail_server import STAGES, MailServer, mail_server
from tests.support.management import run_command
from tests.support.visitor import PASSWORD
from tests.support.waiting import eventually

ALICE = "Alice@example.org"


@pytest.fixture
def smtp(settings: Any) -> Iterator[MailServer]:
    with mail_server(settings) as server:
        yield server


@pytest.fixture
async def services(services: Services) -> Services:
    """Services whose clock stands still, so that a test can reach the next try."""
    stopped = Services(services.store, FixedClock(services.clock.now_ms()), services.config)
    await stopped.site.refresh()
    return stopped


@pytest.fixture
def clock(services: Services) -> FixedClock:
    assert isinstance(services.clock, FixedClock)
    return services.clock


@pytest.fixture
async def alice(services: Services, clock: FixedClock) -> AccountId:
    """Create an account with a confirmed address."""
    account = await services.accounts.sign_up(handle="alice", password=PASSWORD, now_ms=clock.now_ms())
    id = AccountId(account.id)
    await services.mail.mails.change(id, address=ALICE, language="en")
    return id


async def work(services: Services) -> None:
    """Move due mails, and perform the jobs of the queue."""
    await services.mail_sending.move_due()
    await asyncio.wait_for(Worker(services.mail_queue, services.mail_sending.handle).run_until_empty(), 30)


async def state_of(services: Services, account_id: AccountId) -> SentMail:
    (mail,) = await services.mail.list_mails(account_id)
    return mail


async def test_a_mail_has_two_parts_and_the_headers_of_an_automatic_mail(services, alice, smtp, settings):
    settings.SITE_URL, settings.MAIL_FROM = "https://social.example.org", "Socialsite <noreply@social.example.org>"
    assert await services.mail.notify(alice, "new_app", {"app": "Tusky <b>"})
    assert (await state_of(services, alice)).state == "queued"
    await work(services)
    (message,) = smtp.messages
    assert (message["To"], message["From"]) == (ALICE, "Socialsite <noreply@social.example.org>")
    assert message["Subject"] == "A new app can use @alice on Socialsite"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Message-ID"].endswith("@social.example.org>")
    assert message["Date"]
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    html = message.get_body(("html",)).get_content()
    assert "Tusky &lt;b&gt;" in html
    assert "<img" not in html
    sent = await state_of(services, alice)
    assert (sent.state, sent.tries, sent.address) == ("sent", 1, ALICE)


async def test_a_line_break_in_a_fact_adds_no_header_and_no_recipient(services, alice, smtp):
    injected = "Tusky\r\nBcc: eve@example.org\r\n\r\n.\r\nMAIL FROM:<eve@example.org>"
    await services.mail.notify(alice, "new_app", {"app": injected})
    await services.mail.notify(alice, "new_device", {"device": injected})
    await work(services)
    assert [(message["To"], message["Bcc"]) for message in smtp.messages] == [(ALICE, None)] * 2
    assert smtp.recipients == [[ALICE]] * 2


async def test_an_account_without_a_confirmed_address_gets_no_mail(services, alice, smtp):
    await services.mail.mails.change(alice, address="", pending=ALICE)
    assert not await services.mail.notify(alice, "new_app", {"app": "Tusky"})
    await work(services)
    assert (smtp.messages, await services.mail.list_mails(alice)) == ([], [])


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("fault", ["4", "cut", "hang"])
async def test_a_mail_that_fails_at_any_stage_is_sent_at_the_next_try(services, alice, clock, smtp, stage, fault):
    smtp.faults = [(stage, fault)] * (1 + (stage == "EHLO" and fault == "4"))  # HELO follows a refused EHLO
    await services.mail.notify(alice, "password_changed")
    await work(services)
    assert (await state_of(services, alice)).state == ("sent" if stage == "EHLO" and fault == "4" else "delayed")
    clock.advance(RETRY_DELAYS_MS[0])
    await work(services)
    assert (await state_of(services, alice)).state == "sent"
    assert len({message["Message-ID"] for message in smtp.messages}) == 1
    assert len(smtp.messages) == (
        2 if stage == "END" else 1
    )  # the server accepted the first one, but its answer was lost


@pytest.mark.parametrize("stage", ["MAIL", "RCPT", "DATA", "END"])
async def test_a_mail_that_a_server_refuses_for_good_is_a_dead_letter(services, alice, smtp, stage):
    smtp.faults = [(stage, "5")]
    await services.mail.notify(alice, "password_changed")
    await work(services)
    state = await state_of(services, alice)
    assert (state.state, state.reason) == ("refused", "550 5.1.1 not <now>")
    (letter,) = await services.mail_queue.read_dead_letters(10)
    assert "550 5.1.1" in letter.reason
    assert await services.mail_queue.retry_dead_letter(letter.id)
    await work(services)
    assert (await state_of(services, alice)).state == "sent"


async def test_a_mail_whose_every_try_fails_is_a_dead_letter(services, alice, clock, smtp, settings):
    settings.EMAIL_PORT = 9  # no server listens
    await services.mail.notify(alice, "password_changed")
    for delay_ms in (*RETRY_DELAYS_MS, 0):
        await work(services)
        assert (await services.mail_queue.read_depth()).is_empty
        clock.advance(delay_ms)
    assert (await state_of(services, alice)).state == "failed"
    assert (await services.mail_queue.read_depth()).dead == 1
    assert RETRY_DELAYS_MS[0] >= 60_000
    assert sum(RETRY_DELAYS_MS) > 12 * 3_600_000


async def test_a_mail_of_a_worker_that_died_in_the_try_is_sent_again_with_its_id(services, alice, clock, smtp):
    job = SendMail(alice, "00000000000001-aa", "password_changed", ALICE, "en", clock.now_ms())
    await services.mail.mails.store_mail(
        alice, job.id, SentMail("password_changed", ALICE, "sending", clock.now_ms(), 1)
    )
    await services.mail_queue.add(encode_job(job))
    await work(services)
    assert smtp.messages[0]["Message-ID"].startswith("<00000000000001-aa.")
    await services.mail_queue.add(encode_job(job))  # a job that is repeated after the mail was sent
    await work(services)
    assert len(smtp.messages) == 1


async def test_a_mail_of_a_restored_backup_is_not_sent_days_later(services, alice, clock, smtp):
    await services.mail.notify(alice, "password_changed")
    clock.advance(3 * DAY_MS)
    await work(services)
    assert (smtp.messages, (await state_of(services, alice)).state) == ([], "failed")


async def test_a_deleted_account_gets_no_mail_and_keeps_no_state(services, alice, smtp, store: Store):
    await services.mail.notify(alice, "password_changed")
    assert await services.mail.mails.claim(address_digest(ALICE), alice)
    await services.accounts.delete(account_id=alice)
    await work(services)
    assert smtp.messages == []
    assert await services.mail.list_mails(alice) == []
    assert (await services.mail.find(alice)).address == ""
    assert await services.mail.mails.find_owner(address_digest(ALICE)) is None


async def test_an_outdated_change_of_the_address_changes_nothing(services, alice):
    """An account that was never approved may be deleted meanwhile, and another account may have its id."""
    mails = services.mail.mails
    row = await services.mail.find(alice)
    assert await mails.change(alice, pending="new@example.org")
    assert not await mails.change(alice, row, address="new@example.org", pending="")
    row = await services.mail.find(alice)
    await services.repositories.accounts.delete_private_keys(alice)
    assert not await mails.change(alice, row, address="new@example.org", pending="")
    assert (await services.mail.find(alice)).address == ""


async def test_mails_of_one_kind_are_limited_for_each_address(services, alice, smtp):
    results = [await services.mail.notify(alice, "new_device", {"device": "Firefox"}) for _ in range(11)]
    assert results == [True] * 10 + [False]
    assert await services.mail.notify(alice, "password_changed")


async def test_a_site_without_a_mail_server_writes_files(services, alice, settings, tmp_path: Path):
    settings.EMAIL_BACKEND, settings.EMAIL_FILE_PATH = "accounts.mail.backends.FileBackend", str(tmp_path / "mail")
    await services.mail.notify(alice, "password_changed")
    await work(services)
    (file,) = (tmp_path / "mail").iterdir()
    assert file.name.endswith(".eml")
    assert email.message_from_bytes(file.read_bytes())["To"] == ALICE
    assert file.stat().st_mode & 0o077 == 0


async def test_a_changed_password_is_mailed(services, alice, smtp):
    account = await services.accounts.get(alice)
    await services.accounts.set_password(account=account, new="another long secret")
    await work(services)
    assert [message["Subject"] for message in smtp.messages] == ["Your password for Socialsite was changed"]


async def test_a_mail_is_written_in_the_language_of_the_account(services, alice, smtp):
    await services.mail.mails.change(alice, language="de")
    await services.mail.notify(alice, "password_changed")
    await work(services)
    assert "Passwort" in smtp.messages[0]["Subject"]


async def test_a_hanging_mail_server_does_not_block_the_event_loop(services, alice, smtp):
    smtp.faults = [("DATA", "hang")]
    await services.mail.notify(alice, "password_changed")
    working = asyncio.create_task(work(services))
    await eventually(lambda: not smtp.faults)
    assert not working.done()
    assert await services.accounts.find(alice)
    await working


def test_a_test_mail_is_sent_immediately_or_shows_the_answer_of_the_server(here: None, smtp, settings) -> None:
    settings.MAIL_URL = "smtp://127.0.0.1"
    output = run_command("check_mail", "operator@example.org")
    assert "to operator@example.org was given to the server 127.0.0.1" in output
    assert [message["Subject"] for message in smtp.messages] == ["Test mail from Socialsite"]
    smtp.faults = [("RCPT", "5")]
    with pytest.raises(CommandError, match=r"5\.1\.1 not <now>"):
        run_command("check_mail", "operator@example.org")
    with pytest.raises(CommandError, match="is not a mail address"):
        run_command("check_mail", "operator")
