"""Makes the checks once per minute in one process of the site: each worker and each web process tries.

If the store does not answer, no process can know what the others do. Then one process per machine, which holds a lock
of a file, sends a mail to ALERT_MAIL.
"""

import asyncio
import fcntl
import os
import random
import tempfile
import time
from pathlib import Path

from django.conf import settings
from django.utils.crypto import salted_hmac

from socialsite.alerts.board import NAMES, AlertRepository, Board, Finding
from socialsite.alerts.messages import log_events, send_now
from socialsite.alerts.service import AlertService, make_alert_mail, operator_addresses
from socialsite.analytics import prometheus
from socialsite.container import Services
from socialsite.recipes.lock import LockLost
from socialsite.recipes.periodic_tasks import PeriodicTask, PeriodicTasks
from socialsite.store import StoreError
from socialsite.web.services import loop_services

CHECK_TIMEOUT_S = 45.0


class AlertWatch:
    def __init__(self, services: Services | None = None) -> None:
        """If `services` is None, the services of the web process are used, which may not be open yet."""
        self._services = services
        self._board = Board()
        """The state of the alert `store`, if the stored board cannot be read."""
        self._lock: int | None = None

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(settings.ALERT_INTERVAL_S * random.uniform(0.9, 1.0))  # noqa: S311 - spreads the processes
            await self.check_once()

    async def check_once(self) -> None:
        finding = None
        try:
            async with asyncio.timeout(CHECK_TIMEOUT_S):
                services = self._services or await loop_services.get()
                assert isinstance(services, Services)
                alerts = AlertService(services)
                task = PeriodicTask("alerts", settings.ALERT_INTERVAL_S, alerts.check, CHECK_TIMEOUT_S)
                await PeriodicTasks(services.store, ()).run_if_due(task)
                active = set((await AlertRepository(services.store).load()).active)
        except LockLost:
            return
        except (StoreError, TimeoutError) as error:
            finding, active = Finding(1, str(error) or type(error).__name__), {"store"}
        for name in NAMES:
            prometheus.ALERTS.labels(name).set(name in active)
        await self._follow_outage(finding, time.time_ns() // 1_000_000)

    async def _follow_outage(self, finding: Finding | None, now_ms: int) -> None:
        """Tell that the store of the alerts does not answer, and when it answers again."""
        self._board, events = self._board.advance({"store": finding}, now_ms)
        if not events or not await asyncio.to_thread(self._is_teller):
            return
        log_events(events)
        for operator in operator_addresses():
            await send_now(make_alert_mail(operator, events))
        if events[0].kind == "end" and self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _is_teller(self) -> bool:
        """Return whether this process has the lock of the machine. Return True if its file cannot be opened."""
        if self._lock is not None:
            return True
        name = salted_hmac("alerts", settings.REDIS_URL).hexdigest()[:16]
        path = Path(settings.METRICS_DIR or tempfile.gettempdir()) / f"alerts-{name}.lock"
        try:
            lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        except OSError:
            return True
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return False
        self._lock = lock
        return True
