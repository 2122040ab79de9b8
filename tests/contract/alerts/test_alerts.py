"""Each alert begins and ends with a real fault, and sends one message when it begins and one when it ends."""

import asyncio
import contextlib
import os
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec import structs

from accounts.mail.values import SendMail, encode_job
from accounts.sanctions.sanction import SanctionId
from socialsite.alerts.board import AlertRepository
from socialsite.alerts.checks import HOUR_MS
from socialsite.alerts.service import AlertService
from socialsite.alerts.watch import AlertWatch
from socialsite.clock import DAY_MS
from socialsite.ids import id_at
from socialsite.outgoing.requests import OutgoingClient
from socialsite.startup import open_services
from tests.contract.alerts.conftest import ADDRESS, OperatorMail, make_operator
from tests.support.certificates import Certificates
from tests.support.disk_faults import mounted_disk
from tests.support.mail_server import mail_server
from tests.support.management import run_command
from tests.support.redis_server import RedisServer
from tests.support.remote_server import remote_server, use_client
from tests.support.replicas import is_replicated, replicated_server
from tests.support.waiting import eventually
from timelines import keys
from timelines.audit.sampler import DamageCounts

ROOT = Path(__file__).resolve().parents[3]
DISK_MB = 1_100
Step = Callable[[], Awaitable[object]]


async def hold_alert(operator: OperatorMail, begin: Step, end: Step, title: str) -> None:
    """Check that the operator gets one mail when the fault begins, and one when it ends."""
    assert await operator.check(2) == []
    await begin()
    assert await operator.check() == []
    assert await operator.check() == [title]
    assert await operator.check(2) == []
    await end()
    assert await operator.check() == []
    assert await operator.check() == [f"Ended: {title}"]
    assert await operator.check(2) == []


async def test_a_dead_letter_is_an_alert(operator: OperatorMail) -> None:
    queue = operator.services.preview_queue
    await queue.create_group()

    async def fail() -> None:
        await queue.add(b"not a job")
        (job,) = await queue.fetch("abad1dea", 1, 1)
        await queue.move_to_dead_letters(job, "broken")

    async def drop() -> None:
        (letter,) = await queue.read_dead_letters(1)
        await queue.delete_dead_letter(letter.id)

    await hold_alert(operator, fail, drop, "Jobs failed")
    assert "1 job" not in operator.last_text()


async def test_a_job_that_waits_too_long_is_an_alert(operator: OperatorMail) -> None:
    queue = operator.services.media_queue
    old_ms = operator.services.clock.now_ms() - HOUR_MS

    async def add() -> None:
        await queue.node.execute("XADD", queue.stream_key, f"{old_ms}-0", "payload", b"x")

    async def perform() -> None:
        await queue.node.execute("XDEL", queue.stream_key, f"{old_ms}-0")

    await hold_alert(operator, add, perform, "Jobs wait too long")


async def test_a_blocked_queue_of_mails_delays_no_mail_about_itself(operator: OperatorMail) -> None:
    queue, old_ms = operator.services.mail_queue, operator.services.clock.now_ms() - DAY_MS
    await queue.node.execute("XADD", queue.stream_key, f"{old_ms}-0", "payload", b"x")
    for _ in range(2):
        await AlertService(operator.services).check()
    assert [str(each["Subject"]) for each in operator.smtp.to(ADDRESS)] == ["localhost: Jobs wait too long"]


async def test_a_late_mail_is_an_alert(operator: OperatorMail) -> None:
    queue, now_ms = operator.services.mail_queue, operator.services.clock.now_ms()
    job = SendMail(operator.sam.id, "1", "test", ADDRESS, "", now_ms - HOUR_MS)

    async def postpone() -> None:
        await queue.postpone(encode_job(job), now_ms + DAY_MS)

    async def send() -> None:
        await queue.node.execute("DEL", queue.due_key)

    await hold_alert(operator, postpone, send, "Mails are not sent")


async def test_a_discrepancy_is_an_alert(operator: OperatorMail) -> None:
    counts = DamageCounts(operator.services.store)
    await hold_alert(
        operator, lambda: counts.add({"x": 2}), lambda: counts.replace({}), "The integrity check found problems"
    )


async def test_memory_near_its_limit_is_an_alert(plain_operator: OperatorMail, redis_server: RedisServer) -> None:
    with redis_server.client() as client:
        used = client.info("memory")["used_memory"]

        async def limit() -> None:
            client.config_set("maxmemory", int(used * 1.05))

        async def free() -> None:
            client.config_set("maxmemory", 0)

        try:
            await hold_alert(plain_operator, limit, free, "The memory of Redis is nearly full")
        finally:
            await free()


async def test_a_nearly_full_disk_is_an_alert(operator: OperatorMail, settings: Any) -> None:
    with mounted_disk(DISK_MB) as disk:
        settings.MAIL_ROOT = disk.directory / "mail"

        async def fill() -> None:
            await asyncio.to_thread(disk.fill, 1_000 << 20)

        async def empty() -> None:
            disk.empty()

        await hold_alert(operator, fill, empty, "A disk is nearly full")


async def test_a_disk_of_another_machine_stays_in_the_alert(operator: OperatorMail, settings: Any) -> None:
    services, own_root = operator.services, settings.MAIL_ROOT

    async def check(machine: str, folder: Path) -> list[str]:
        settings.MAIL_ROOT = folder
        await AlertService(services, machine).check()
        return await operator.receive()

    async def begin(full: Path) -> None:
        assert await check("web-1", full) == []
        assert await check("web-2", own_root) == []
        assert await check("web-1", full) == ["A disk is nearly full"]
        assert f"free for web-1:{full.parent}." in operator.last_text()
        assert await check("web-2", own_root) + await check("web-2", own_root) == []

    with mounted_disk(6) as disk:
        await begin(disk.directory / "mail")
        assert await check("web-1", own_root) == []
        assert await check("web-1", own_root) == ["Ended: A disk is nearly full"]
        await begin(disk.directory / "mail")
    alerts = AlertRepository(services.store)
    board = await alerts.load()
    alert = board.alerts["disk"]
    gone = structs.replace(alert, found_ms=alert.found_ms - HOUR_MS)  # the machine checks nothing any more
    await alerts.save(structs.replace(board, alerts={"disk": gone}))
    assert await check("web-2", own_root) == []
    assert await check("web-2", own_root) == ["Ended: A disk is nearly full"]


async def test_a_backup_that_is_too_old_is_an_alert(
    plain_operator: OperatorMail, settings: Any, redis_server: RedisServer, tmp_path: Path
) -> None:
    settings.ALERT_BACKUP_AGE_HOURS, settings.REDIS_URL = 48, redis_server.url
    alerts, now_ms = AlertRepository(plain_operator.services.store), plain_operator.services.clock.now_ms()
    await hold_alert(
        plain_operator,
        lambda: alerts.record_backup(now_ms - 49 * HOUR_MS),
        lambda: asyncio.to_thread(run_command, "backup", tmp_path / "backup"),
        "The last backup is old",
    )


async def test_a_certificate_that_ends_soon_or_is_refused_is_an_alert(
    operator: OperatorMail, settings: Any, tmp_path: Path
) -> None:
    folders = {days: tmp_path / str(days) for days in (2, 90)}
    for days, folder in folders.items():
        folder.mkdir()
        Certificates(folder, days)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trust = ssl.create_default_context()

    async def use(days: int, *, trusts: bool = True) -> None:
        tls.load_cert_chain(folders[days] / "server.crt", folders[days] / "server.key")
        if trusts:
            trust.load_verify_locations(str(folders[days] / "ca.crt"))

    await use(90)
    async with remote_server(tls=tls) as server:
        settings.SITE_URL = server.origin
        use_client(operator.services, OutgoingClient(exempt=server.exempt, ssl_context=trust))
        await hold_alert(operator, lambda: use(2), lambda: use(90), "The certificate ends soon")
        await hold_alert(operator, lambda: use(2, trusts=False), lambda: use(90), "The certificate ends soon")


async def test_a_killed_worker_is_an_alert(plain_operator: OperatorMail, redis_server: RedisServer) -> None:
    """The process that checks sends the mail itself, because no worker can."""
    operator, outbox = plain_operator, plain_operator.services.outbox
    await outbox.deregister("abad1dea")
    mail_url = f"smtp://127.0.0.1:{operator.smtp.port}"
    environment = os.environ | {"REDIS_URL": redis_server.url, "MAIL_URL": mail_url, "ALERT_INTERVAL": "600"}
    command = [sys.executable, "manage.py", "syndicate"]

    async def runs() -> bool:
        return bool(await outbox.count_workers())

    worker = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    try:
        await eventually(runs, timeout_s=60)
        assert await operator.check(2) == []
        worker.kill()
        worker.wait()
        assert await operator.check() == []
        await AlertService(operator.services).check()
        assert [str(each["Subject"]) for each in operator.smtp.to(ADDRESS)] == ["localhost: No worker runs"]
        assert await operator.receive() == ["No worker runs"]
        await outbox.send_heartbeat("abad1dea")
        assert await operator.check() == []
        assert await operator.check() == ["Ended: No worker runs"]
    finally:
        worker.kill()
        worker.wait()


async def test_a_server_that_cannot_write_its_file_is_an_alert(settings: Any) -> None:
    with mounted_disk(6) as disk, mail_server(settings) as smtp, RedisServer(directory=disk.directory) as server:
        async with open_services(server.url) as services:
            operator = await make_operator(services, smtp)

            async def save() -> None:
                with server.client() as client:
                    client.bgsave()
                    await eventually(lambda: not client.info("persistence")["rdb_bgsave_in_progress"])

            async def fill() -> None:
                disk.fill(0)
                with disk.directory.joinpath("rest").open("wb") as rest, contextlib.suppress(OSError):
                    rest.write(b"x" * 65_536)
                await save()

            async def empty() -> None:
                disk.empty()
                disk.directory.joinpath("rest").unlink()
                await save()

            await hold_alert(operator, fill, empty, "Redis cannot write its data to disk")


async def test_a_report_that_waits_for_a_day_is_an_alert(operator: OperatorMail) -> None:
    store, keyed = operator.services.store, (keys.open_reports(), keys.report_queue())
    old_id = id_at(operator.services.clock.now_ms() - 2 * DAY_MS)

    async def add() -> None:
        await store.execute_all([("ZADD", key, old_id, old_id) for key in keyed])

    async def close() -> None:
        await store.execute_all([("DEL", key) for key in keyed])

    await hold_alert(operator, add, close, "Reports wait for an answer")


async def test_an_appeal_alerts_the_operator(operator: OperatorMail) -> None:
    sanctions, now_ms = operator.services.repositories.sanctions, operator.services.clock.now_ms()
    await hold_alert(
        operator,
        lambda: sanctions.appeals.add((operator.sam.id, SanctionId(1)), now_ms),
        lambda: sanctions.appeals.remove((operator.sam.id, SanctionId(1))),
        "Appeals wait for a decision",
    )


async def test_a_killed_replica_is_an_alert(settings: Any) -> None:
    async with replicated_server() as servers, open_services(servers.master.url) as services:
        with mail_server(settings) as smtp:
            operator = await make_operator(services, smtp)

            async def kill() -> None:
                servers.replica.kill()

            async def restart() -> None:
                servers.replica.start()
                with servers.replica.client() as replica, servers.master.client() as master:
                    replica.replicaof("127.0.0.1", str(servers.wire.port))
                    await eventually(lambda: is_replicated(master), timeout_s=30)

            await hold_alert(operator, kill, restart, "A replica is lost or late")


async def test_one_process_sends_one_mail_about_an_unreachable_store(settings: Any) -> None:
    settings.ALERT_MAIL, settings.ALERT_INTERVAL_S = ["operator@example.org"], 0.001
    with RedisServer(aof=True) as server:
        async with open_services(server.url) as services:
            with mail_server(settings) as smtp:
                settings.REDIS_URL = server.url
                watches = [AlertWatch(services) for _ in range(3)]

                async def check(times: int) -> list[str]:
                    before = len(smtp.messages)
                    for _ in range(times):
                        await asyncio.gather(*(watch.check_once() for watch in watches))
                    return [str(each["Subject"]).partition(": ")[2] for each in smtp.messages[before:]]

                assert "The store has a fault" not in await check(2)
                server.kill()
                assert await check(1) == []
                assert await check(2) == ["The store has a fault"]
                server.start()
                assert await check(1) == []
                assert "Ended: The store has a fault" in await check(1)
                assert "Ended: The store has a fault" not in await check(2)


async def test_an_unstable_store_causes_a_few_mails(settings: Any) -> None:
    settings.ALERT_MAIL, settings.ALERT_INTERVAL_S = ["operator@example.org"], 0.001
    with RedisServer() as server:
        async with open_services(server.url) as services:
            with mail_server(settings) as smtp:
                settings.REDIS_URL, watch = server.url, AlertWatch(services)
                for _outage in range(4):
                    server.kill()
                    for _check in range(2):
                        await watch.check_once()
                    server.start()
                    for _check in range(2):
                        await watch.check_once()
                subjects = [str(each["Subject"]).partition(": ")[2] for each in smtp.messages]
                assert subjects.count("Ended: The store has a fault") <= 2
