"""Alerts and the daily summary reach staff once, by mail or push, whatever fails meanwhile."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from accounts.sanctions.sanction import SanctionId
from accounts.sessions.values import BearerToken, TokenGrant
from socialsite.alerts.board import AlertRepository, Board
from socialsite.alerts.service import AlertService
from socialsite.alerts.watch import AlertWatch
from socialsite.clock import DAY_MS
from socialsite.ids import AccountId
from socialsite.outgoing.requests import TIMEOUT_S
from socialsite.recipes.lock import fence_key
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.contract.alerts.conftest import ADDRESS, OperatorMail, make_operator
from tests.support.mail_server import MailServer, mail_server
from tests.support.push_device import PushDevice, push_service
from tests.support.redis_server import RedisServer
from tests.support.remote_server import RemoteServer, Write, respond, use_client
from tests.support.waiting import eventually
from tests.support.world import World
from timelines.audit.sampler import DamageCounts

ROOT = Path(__file__).resolve().parents[3]


async def test_processes_that_check_at_the_same_time_send_an_alert_once(operator: OperatorMail, settings: Any) -> None:
    settings.ALERT_INTERVAL_S = 0.001
    await operator.choose(gets_summary=True)
    watches = [AlertWatch(operator.services) for _ in range(3)]
    counts = DamageCounts(operator.services.store)
    for damage, titles in (({"x": 1}, ["", "The last day of Socialsite"]), ({}, ["Ended: "])):
        await counts.replace(damage)
        for _ in range(4):
            await asyncio.gather(*(watch.check_once() for watch in watches))
        assert sorted(await operator.receive()) == [f"{titles[0]}The integrity check found problems", *titles[1:]]


@pytest.mark.nightly
async def test_three_workers_send_an_alert_once(redis_url: str) -> None:
    async with open_services(redis_url) as services:
        with MailServer().running() as smtp:
            operator = await make_operator(services, smtp)
            counts = DamageCounts(services.store)
            await counts.add({"x": 1})
            environment = os.environ | {
                "REDIS_URL": redis_url, "MAIL_URL": f"smtp://127.0.0.1:{smtp.port}", "ALERT_INTERVAL": "0.3",
                "ALERT_BACKUP_AGE_HOURS": "0",
            }  # fmt: skip
            command = [sys.executable, "manage.py", "syndicate"]
            workers = [
                subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) for _ in range(3)
            ]

            async def rounds_pass(number: int) -> None:
                """Wait until the lock was taken by further rounds of checks."""

                async def fence() -> int:
                    return int(await services.outbox.node.execute("GET", fence_key("alerts")) or 0)

                last = await fence() + number
                await eventually(lambda: _at_least(fence, last), timeout_s=30)

            try:
                async with asyncio.timeout(60):
                    await eventually(lambda: bool(smtp.messages), timeout_s=50)
                    await rounds_pass(6)
                    await counts.replace({})
                    await eventually(lambda: len(smtp.messages) > 1, timeout_s=30)
                    await rounds_pass(6)
            finally:
                for worker in workers:
                    worker.terminate()
                for worker in workers:
                    worker.wait(20)
            title = "The integrity check found problems"
            subjects = [str(each["Subject"]).partition(": ")[2] for each in smtp.to(ADDRESS)]
            assert subjects == [title, f"Ended: {title}"]
            assert operator.seen == 0


async def test_staff_chooses_push_or_nothing(operator: OperatorMail, tmp_path: Path) -> None:
    services = operator.services
    counts = DamageCounts(services.store)
    async with push_service(tmp_path) as (server, client):
        use_client(services, client)
        server.answers["/device"] = respond(b"", "text/plain", status="201 Created")
        device = PushDevice(server.origin + "/device")
        session = await services.access_tokens.issue(operator.sam.account, _grant())
        subscription = services.push.parse_subscription(endpoint=device.endpoint, **device.keys)
        await services.push.save(operator.sam.id, _session_id(session), subscription)
        await operator.choose(alerts="push")
        await counts.add({"x": 2})
        assert await operator.check(2) == []
        queue = services.push_queue
        await queue.create_group()
        (job,) = await queue.fetch("abad1dea", 10, 1)
        titles = []
        for shows_text in (False, True):
            await services.repositories.push_subscriptions.set_shows_text(operator.sam.id, shows_text)
            await services.push_sending.handle(job.payload)
            message = device.decrypt(server.requests[-1])
            titles.append(message["title"])
            assert (message["body"] != "", message["url"]) == (shows_text, "/ops/alerts/")
        assert titles == ["New notification", "The integrity check found problems"]
        await _set_moderator(operator)
        await services.push_sending.handle(job.payload)
        assert len(server.requests) == 2
        await services.staff.set_role(operator.sam.id, "owner")
        await queue.finish(job)
        await operator.choose(alerts="none")
        await counts.replace({})
        assert await operator.check(2) == []
        assert await queue.fetch("abad1dea", 10, 1) == []


async def test_staff_that_chose_push_gets_a_mail_if_no_browser_is_left(operator: OperatorMail) -> None:
    await operator.choose(alerts="push")
    await DamageCounts(operator.services.store).add({"x": 2})
    assert await operator.check(2) == ["The integrity check found problems"]


async def test_one_push_message_has_all_alerts_that_begin_together(operator: OperatorMail, tmp_path: Path) -> None:
    services = operator.services
    async with push_service(tmp_path) as (server, client):
        use_client(services, client)
        server.answers["/device"] = respond(b"", "text/plain", status="201 Created")
        device = await _add_device(operator, server)
        await DamageCounts(services.store).add({"x": 2})
        appeal = operator.sam.id, SanctionId(1)
        await services.repositories.sanctions.appeals.add(appeal, services.clock.now_ms())
        assert await operator.check(2) == []
        await services.push_queue.create_group()
        (job,) = await services.push_queue.fetch("abad1dea", 10, 1)
        await services.push_sending.handle(job.payload)
        (request,) = server.requests
    body = device.decrypt(request)["body"]
    assert "2 problems" in body
    assert "1 appeal waits" in body


async def test_staff_gets_a_push_message_if_no_worker_runs(operator: OperatorMail, tmp_path: Path) -> None:
    services = operator.services
    async with push_service(tmp_path) as (server, client):
        use_client(services, client)
        server.answers["/device"] = respond(b"", "text/plain", status="201 Created")
        device = await _add_device(operator, server)
        await services.outbox.deregister("abad1dea")
        assert await operator.check(3) == []
        assert [device.decrypt(request)["title"] for request in server.requests] == ["No worker runs"]
        server.answers["/device"] = respond(b"", "text/plain", status="503 Service Unavailable")
        await DamageCounts(services.store).add({"x": 2})
        assert await operator.check(2) == []
    await services.push_queue.create_group()
    (job,) = await services.push_queue.fetch("abad1dea", 10, 1)
    assert b"integrity check" in job.payload, "a worker tries it again"


async def test_a_push_service_that_does_not_answer_delays_no_mail(operator: OperatorMail, tmp_path: Path) -> None:
    services, is_over = operator.services, asyncio.Event()

    async def wait(_write: Write) -> None:
        await is_over.wait()

    pat = await World(services).person("pat")
    await services.staff.set_role(pat.id, "owner")
    await services.mail.mails.change(pat.id, address="pat@example.org", language="en")
    async with push_service(tmp_path) as (server, client):
        use_client(services, client)
        server.answers["/device"] = wait
        await _add_device(operator, server)
        await services.outbox.deregister("abad1dea")
        await AlertService(services).check()
        check = asyncio.create_task(AlertService(services).check())
        await eventually(lambda: bool(operator.smtp.to("pat@example.org")), timeout_s=TIMEOUT_S / 2)
        assert not check.done()
        is_over.set()
        await check


async def test_a_mail_server_that_answers_byte_by_byte_does_not_repeat_an_alert(
    operator: OperatorMail, settings: Any
) -> None:
    """The time limit of a step begins again with each byte."""
    services, settings.EMAIL_TIMEOUT = operator.services, 0.5
    await services.outbox.deregister("abad1dea")
    is_over, connections = asyncio.Event(), list[asyncio.Task[Any] | None]()

    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(asyncio.current_task())
        with contextlib.suppress(OSError):
            while not is_over.is_set():
                writer.write(b"2")
                await asyncio.sleep(0.1)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(drip, "127.0.0.1")
    smtp_port, settings.EMAIL_PORT = settings.EMAIL_PORT, server.sockets[0].getsockname()[1]
    async with server:
        async with asyncio.timeout(10):
            for _ in range(3):
                await AlertService(services).check()
        settings.EMAIL_PORT = smtp_port
        assert await operator.receive() == ["No worker runs"]
        is_over.set()
        await asyncio.gather(*filter(None, connections))


async def test_a_mail_of_another_release_stops_no_check(operator: OperatorMail) -> None:
    services, counts = operator.services, DamageCounts(operator.services.store)
    await services.mail_queue.postpone(b"a mail of the next release", services.clock.now_ms() + DAY_MS)
    await counts.add({"x": 2})
    assert await operator.check(2) == ["The integrity check found problems"]


async def test_an_unreadable_summary_delays_no_alert(redis_url: str, settings: Any) -> None:
    """The statistics are on a server of their own, which is down at the time of the summary."""
    with RedisServer() as series, mail_server(settings) as smtp:
        async with open_services(StoreUrls(redis_url, {"series": series.url})) as services:
            operator = await make_operator(services, smtp)
            await operator.choose(gets_summary=True)
            series.kill()
            assert await operator.check(4) == ["The store has a fault"]
            series.start()
            assert set(await operator.check(2)) == {"The last day of Socialsite", "Ended: The store has a fault"}
            assert await operator.check(2) == []


async def test_a_full_server_causes_one_message(
    plain_operator: OperatorMail, redis_server: RedisServer, settings: Any
) -> None:
    settings.ALERT_INTERVAL_S = 0.001
    watch = AlertWatch(plain_operator.services)
    await DamageCounts(plain_operator.services.store).add({"x": 1})
    await watch.check_once()
    with redis_server.client() as client:
        client.config_set("maxmemory", 1)
        try:
            for _ in range(4):
                await watch.check_once()
        finally:
            client.config_set("maxmemory", 0)
    assert [str(each["Subject"]).partition(": ")[2] for each in plain_operator.smtp.to(ADDRESS)] == [
        "The integrity check found problems", "The memory of Redis is nearly full",
    ]  # fmt: skip


async def test_a_folder_that_cannot_be_read_stops_no_check(operator: OperatorMail, settings: Any) -> None:
    await operator.choose(gets_summary=True)
    media, settings.MAIL_ROOT = settings.MAIL_ROOT, Path("/x" * 5_000)  # ENAMETOOLONG
    await DamageCounts(operator.services.store).add({"x": 2})
    assert await operator.check(2) == ["The integrity check found problems"]
    settings.MAIL_ROOT = media
    assert await operator.check() == ["The last day of Socialsite"]


async def test_a_clock_that_was_ahead_delays_no_summary(operator: OperatorMail) -> None:
    alerts, now_ms = AlertRepository(operator.services.store), operator.services.clock.now_ms()
    await operator.choose(gets_summary=True)
    await alerts.save(Board(summary_ms=now_ms + 400 * DAY_MS))
    assert await operator.check(2) == ["The last day of Socialsite"]


async def test_each_address_of_the_setting_gets_a_mail(operator: OperatorMail, settings: Any) -> None:
    settings.ALERT_MAIL = ["a@example.org", "b@example.org"]
    await DamageCounts(operator.services.store).add({"x": 2})
    await operator.check(2)
    assert {str(each["To"]) for each in operator.smtp.messages} == {*settings.ALERT_MAIL, ADDRESS}


async def test_the_daily_summary_is_sent_once_to_staff_that_chose_it(operator: OperatorMail) -> None:
    services = operator.services
    await operator.choose(gets_summary=True)
    reporter, other = await World(services).people("alice", "bob")
    reports = [
        await services.reports.report(reporter_id=each.id, target_id=target.id, category="spam", comment="")
        for each, target in ((reporter, other), (other, reporter))
    ]
    await services.reports.close(operator.sam.id, [reports[0].id])
    await services.repositories.joining.applications.add("carol", services.clock.now_ms())
    await operator.services.statistics.meter.flush()
    assert await operator.check() == ["The last day of Socialsite"]
    assert "There was no backup yet." in operator.last_text()
    assert "3 new accounts" in operator.last_text()
    assert "1 closed report\r\n" in operator.last_text()
    assert "1 waiting application\r\n" in operator.last_text()
    assert await operator.check(3) == []


async def test_accounts_without_the_right_get_no_alert(operator: OperatorMail) -> None:
    services = operator.services
    await _set_moderator(operator)
    await DamageCounts(services.store).add({"x": 2})
    assert await operator.check(3) == []


async def _at_least(read: Callable[[], Awaitable[int]], number: int) -> bool:
    return await read() >= number


async def _add_device(operator: OperatorMail, server: RemoteServer) -> PushDevice:
    """Let a device show the operator the alerts."""
    services, device = operator.services, PushDevice(server.origin + "/device")
    session = _session_id(await services.access_tokens.issue(operator.sam.account, _grant()))
    subscription = services.push.parse_subscription(endpoint=device.endpoint, **device.keys)
    await services.push.save(operator.sam.id, session, subscription)
    await services.repositories.push_subscriptions.set_shows_text(operator.sam.id, True)
    await operator.choose(alerts="push")
    return device


async def _set_moderator(operator: OperatorMail) -> None:
    """Give the operator the role of moderators, who have no right to operate. The site gets another owner."""
    services = operator.services
    account = await services.accounts.sign_up(handle="pat", password=None, now_ms=services.clock.now_ms())
    await services.staff.set_role(AccountId(account.id), "owner")
    await services.staff.set_role(operator.sam.id, "moderator")


def _grant() -> TokenGrant:
    return TokenGrant("", "Browser", ("read", "push"))


def _session_id(text: str) -> str:
    token = BearerToken.parse(text)
    assert token is not None
    return token.session_id
