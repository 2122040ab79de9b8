"""The checks of the site. A check that cannot be made leaves its alert as it is."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings

from accounts.mail.values import decode_job
from socialsite.alerts.board import AlertRepository, Board, Finding
from socialsite.clock import DAY_MS
from socialsite.concurrency import run_together
from socialsite.container import Services
from socialsite.outgoing.requests import CertificateRefused, OutgoingFailed, OutgoingRefused
from socialsite.recipes.job import PermanentFailure
from socialsite.recipes.job_queue import QueueDepth
from socialsite.store import StoreError
from socialsite.web.health import FULL, OK, READINESS_TIMEOUT_S, Infos, check_services
from timelines.audit.sampler import DamageCounts

HOUR_MS = 3_600_000
CHECK_TIMEOUT_S = 15.0
MEMORY_SHARE, DISK_FREE_SHARE, DISK_FREE_BYTES = 0.9, 0.1, 1 << 30
REPLICA_LAG_S = 10
QUEUE_AGE_MS, LATE_MAIL_MS = 300_000, 1_800_000
MAILS_READ, REFUSED_MAILS = 100, 10
CERTIFICATE_DAYS = 14
SAVED = ("rdb_last_bgsave_status", "aof_last_bgrewrite_status", "aof_last_write_status")

Results = dict[str, Finding | None]


class Check(NamedTuple):
    services: Services
    board: Board
    now_ms: int
    machine: str


async def run_checks(check: Check) -> tuple[Results, dict[str, tuple[int, int]]]:
    """Return the finding of each check by name, None without a fault, and the next `Board.replicas`."""
    services, until = check.services, asyncio.get_running_loop().time() + READINESS_TIMEOUT_S
    ready, others = await run_together(
        check_services(services, until), run_together(*(_try_check(name, work(check)) for name, work in CHECKS.items()))
    )
    faults = [f"{name} ({state})" for name, state in ready.components.items() if state not in (OK, FULL)]
    faults += [f"archive ({ready.archive})"] if ready.archive != OK else []
    infos = ready.infos
    lost, replicas = _find_lost_replicas(infos, check.board.replicas, check.now_ms)
    results: Results = {
        "store": _about(faults),
        "memory": _about(_addresses(infos, _is_nearly_full)),
        "persistence": _about(_addresses(infos, lambda info: any(info.get(field, OK) != OK for field in SAVED))),
        "replication": _about(lost),
    }
    depths = ready.queues
    if len(depths) == len(services.background_queues):
        late = [name for name, depth in depths.items() if _is_late(services, name, depth)]
        dead = sum(depth.dead for name, depth in depths.items() if name != services.mail_queue.name)
        results |= {"queues": _about(late), "dead_letters": _some(dead)}
    return results | {name: finding for each in others for name, finding in each.items()}, replicas


async def _try_check(name: str, work: Awaitable[Finding | None]) -> Results:
    """Return the result by name, or nothing if the check cannot be made now."""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            return {name: await work}
    except (StoreError, TimeoutError, OSError):
        return {}


def _some(count: int) -> Finding | None:
    return Finding(count) if count else None


def _about(subjects: Sequence[str]) -> Finding | None:
    return Finding(len(subjects), ", ".join(subjects)) if subjects else None


# Servers


def _addresses(infos: Infos, has_fault: Callable[[Mapping[str, str]], bool]) -> list[str]:
    return [address for address, info in infos.values() if has_fault(info)]


def _is_nearly_full(info: Mapping[str, str]) -> bool:
    max_bytes = int(info.get("maxmemory", 0))
    return bool(max_bytes) and int(info.get("used_memory", 0)) > MEMORY_SHARE * max_bytes


def _find_lost_replicas(
    infos: Infos, former: Mapping[str, tuple[int, int]], now_ms: int
) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """Return the servers with a late replica or fewer than before. A replica is forgotten a day after its loss."""
    lost, most = [], dict(former)
    for number, (address, info) in infos.items():
        replicas = [
            dict(pair.split("=", 1) for pair in value.split(","))
            for field, value in info.items()
            if field.startswith("slave") and field[5:].isdigit()
        ]
        online = [each for each in replicas if each.get("state") == "online"]
        count, seen_ms = most.get(str(number), (0, 0))
        if len(online) >= count or now_ms - seen_ms > DAY_MS:
            most[str(number)] = (len(online), now_ms)
        if len(online) < most[str(number)][0] or any(int(each.get("lag", 0)) > REPLICA_LAG_S for each in online):
            lost.append(address)
    return lost, most


# Queues and workers


def _is_late(services: Services, name: str, depth: QueueDepth) -> bool:
    """Return whether the oldest job waits for longer than a job may take with all its tries."""
    each = services.background_queues[name]
    allowed_ms = QUEUE_AGE_MS + sum(each.queue.retry_policy.retry_delays_ms) + int(each.job_timeout_s * 1000)
    return not depth.is_empty and depth.oldest_ms > allowed_ms


async def check_workers(check: Check) -> Finding | None:
    return None if await check.services.outbox.count_workers() else Finding()


async def check_mails(check: Check) -> Finding | None:
    """Count the mails that are late, and those that failed today. Refused addresses count only if there are many."""
    queue = check.services.mail_queue
    late = sum(_is_late_mail(payload, check.now_ms) for payload in await queue.read_postponed(MAILS_READ))
    letters = [each for each in await queue.read_dead_letters(MAILS_READ) if each.at_ms > check.now_ms - DAY_MS]
    refused = sum("refused:" in letter.reason for letter in letters)
    return _some(late + len(letters) - (refused if refused < REFUSED_MAILS else 0))


def _is_late_mail(payload: bytes, now_ms: int) -> bool:
    try:
        created_ms: int = decode_job(payload).created_ms
    except PermanentFailure:  # a job of another release, whose workers may perform it
        return False
    return created_ms < now_ms - LATE_MAIL_MS


async def check_integrity(check: Check) -> Finding | None:
    return _some(sum((await DamageCounts(check.services.store).read()).values()))


async def check_reports(check: Check) -> Finding | None:
    backlog = await check.services.reports.open_reports()
    is_late = backlog.oldest_ms is not None and backlog.oldest_ms < check.now_ms - DAY_MS
    return Finding(backlog.open_reports) if is_late else None


async def check_appeals(check: Check) -> Finding | None:
    return _some(await check.services.repositories.sanctions.appeals.count())


# The machine, backups and the certificate


async def check_disk(check: Check) -> Finding | None:
    """Check the disks of this machine. They say nothing about those that another machine found within an hour."""
    full = await asyncio.to_thread(find_disks, check.services, only_full=True)
    own, alert = f"{check.machine}:", check.board.alerts.get("disk")
    if full or alert is None or alert.finding.subject.startswith(own) or check.now_ms - alert.found_ms >= HOUR_MS:
        return _about([own + name for name, _free_bytes in full])
    raise OSError("another machine found it")


def find_disks(services: Services, *, only_full: bool = False) -> list[tuple[str, int]]:
    """Return a folder of data, pictures or temporary files on each disk, and the free bytes of the disk."""
    temporary = Path(tempfile.gettempdir())  # often a small disk: only the share of free bytes counts
    folders = (temporary, Path(settings.MAIL_ROOT).parent, services.media_files.folder)
    by_disk = {os.stat(folder).st_dev: folder for folder in folders if folder is not None and folder.exists()}
    sizes = [(folder, shutil.disk_usage(folder)) for folder in by_disk.values()]
    return [
        (str(folder), use.free)
        for folder, use in sizes
        if not only_full or use.free < max(DISK_FREE_BYTES * (folder != temporary), DISK_FREE_SHARE * use.total)
    ]


async def check_backup(check: Check) -> Finding | None:
    """Compare the age of the last backup with the setting. Without a backup, use the age of the first check."""
    last_ms = await AlertRepository(check.services.store).last_backup_ms() or check.board.started_ms or check.now_ms
    hours = (check.now_ms - last_ms) // HOUR_MS
    return Finding(hours) if 0 < settings.ALERT_BACKUP_AGE_HOURS <= hours else None


async def check_certificate(check: Check) -> Finding | None:
    """Read the certificate of the site, as browsers do. A site that cannot reach its own address is not checked."""
    if not settings.SITE_URL.startswith("https://"):
        return None
    host = urlsplit(settings.SITE_URL).hostname or ""
    try:
        end_ms = await check.services.outgoing.read_certificate_end(settings.SITE_URL)
    except CertificateRefused:
        return Finding(0, host)
    except (OutgoingFailed, OutgoingRefused) as error:
        raise OSError(str(error)) from error
    days = (end_ms - check.now_ms) // DAY_MS
    return Finding(max(0, days), host) if days < CERTIFICATE_DAYS else None


CHECKS: Mapping[str, Callable[[Check], Awaitable[Finding | None]]] = {
    "workers": check_workers,
    "mails": check_mails,
    "integrity": check_integrity,
    "reports": check_reports,
    "appeals": check_appeals,
    "disk": check_disk,
    "backup": check_backup,
    "certificate": check_certificate,
}
"""Checks that read more than the state of the servers and the depths of the queues."""
