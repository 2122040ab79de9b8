"""A worker that sends a mail is killed by SIGKILL while the mail server does not answer."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.startup import open_services
from tests.support.mail_server import MailServer, Stage
from tests.support.redis_server import RedisServer
from tests.support.visitor import PASSWORD
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "alice@example.org"


@contextmanager
def running_worker(environment: dict[str, str], *options: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "manage.py", "syndicate", *options], cwd=ROOT, env=os.environ | environment
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def add_mail(services: Services) -> AccountId:
    account = await services.accounts.sign_up(handle="alice", password=PASSWORD, now_ms=services.clock.now_ms())
    account_id = AccountId(account.id)
    await services.mail.mails.change(account_id, address=ADDRESS, language="en")
    await services.mail.notify(account_id, "password_changed")
    return account_id


@pytest.mark.parametrize(("stage", "accepted"), [("END", 1), pytest.param("RCPT", 0, marks=pytest.mark.nightly)])
async def test_a_mail_of_a_killed_worker_is_sent_by_the_next_one_with_the_same_id(
    redis_url: str, redis_server: RedisServer, stage: Stage, accepted: int
) -> None:
    with MailServer().running() as smtp:
        environment = {"REDIS_URL": redis_url, "MAIL_URL": f"smtp://127.0.0.1:{smtp.port}"}
        async with open_services(redis_url) as services:
            account_id = await add_mail(services)
            smtp.faults = [(stage, "hang")]
            with running_worker(environment):
                await eventually(lambda: not smtp.faults, timeout_s=60)  # the worker is in the middle of the dialogue
            (mail,) = await services.mail.list_mails(account_id)
            assert (mail.state, len(smtp.messages)) == ("sending", accepted)
            with running_worker(environment, "--once") as next_worker:
                await eventually(lambda: next_worker.poll() is not None, timeout_s=60)
            (mail,) = await services.mail.list_mails(account_id)
            assert (mail.state, mail.tries) == ("sent", 2)
        assert len(smtp.messages) == accepted + 1
        assert len({message["Message-ID"] for message in smtp.messages}) == 1
