"""A web process without file descriptors or processor time gets slower, loses nothing and recovers."""

import contextlib
import os
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from socialsite.web.handler import REQUEST_DEADLINE_S
from tests.support.load import TimedLoad
from tests.support.outages import count_jobs
from tests.support.processes import load_processors, open_files
from tests.support.redis_server import RedisServer
from tests.support.sites import ProductionSite, running_site
from tests.support.waiting import wait_until

SCARCE_S = float(os.environ.get("SCARCE_SECONDS", "4"))
LOOPS = 2 * (os.cpu_count() or 1) + 2
SPARE_FILES = 20
IDLE = 60
BACK_WITHIN_S = 5.0

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(server: RedisServer) -> Iterator[ProductionSite]:
    with running_site(server.url) as running:
        yield running


@contextlib.contextmanager
def few_files(pid: int, most: int) -> Iterator[None]:
    """`prlimit --nofile` on a running process."""
    usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, usual[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)


@contextlib.contextmanager
def idle_connections(port: int, count: int) -> Iterator[None]:
    """Clients that connect and send nothing."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
        yield


@pytest.mark.nightly
def test_without_file_descriptors_it_serves_open_connections_and_accepts_others_later(
    server: RedisServer, site: ProductionSite, tmp_path: Path
) -> None:
    pulse = TimedLoad(site.url, tmp_path, people=2)
    with pulse:
        wait_until(lambda: pulse.is_steady)
        began, most = time.monotonic(), open_files(site.web_pid) + SPARE_FILES
        with few_files(site.web_pid, most), idle_connections(site.port, IDLE):
            wait_until(lambda: open_files(site.web_pid) >= most - 1)
            time.sleep(SCARCE_S / 2)
            at_most = open_files(site.web_pid)
            with server.client() as client:  # and its connection to the store has to be opened again
                client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            time.sleep(SCARCE_S / 2)
        healed = time.monotonic()
        wait_until(lambda: site.status("/readyz") == 200, timeout_s=60)
        new_s = time.monotonic() - healed
        pulse.wait_until_recovered(healed)
    wait_until(lambda: count_jobs(server) == 0, timeout_s=60)
    ledger_audit = pulse.audit()
    print(
        f"{at_most} files open for {healed - began:.1f} s; a new client is served {new_s:.2f} s after, "
        f"everybody {pulse.recovery_time_s(healed):.2f} s; {ledger_audit} {dict(pulse.outcomes)}"
    )
    assert ledger_audit.is_clean, ledger_audit
    assert set(pulse.outcomes) <= {"post 201", "post 503", "read 200", "read 503"}
    assert at_most >= most - 1
    late_s = pulse.stalls.total_s
    assert new_s < BACK_WITHIN_S + late_s
    assert pulse.recovery_time_s(healed) < BACK_WITHIN_S + late_s
    assert pulse.slowest_s < REQUEST_DEADLINE_S + 1.5 + late_s


@pytest.mark.nightly  # it slows the other tests, too
def test_without_processor_time_it_is_slow_and_loses_nothing(
    server: RedisServer, site: ProductionSite, tmp_path: Path
) -> None:
    pulse = TimedLoad(site.url, tmp_path, people=2)
    with pulse:
        wait_until(lambda: pulse.is_steady)
        calm = time.monotonic()
        time.sleep(2)
        began = time.monotonic()
        with load_processors(LOOPS):
            time.sleep(SCARCE_S)
            ended = time.monotonic()
        time.sleep(1)
    wait_until(lambda: count_jobs(server) == 0, timeout_s=60)
    ledger_audit = pulse.audit()
    before, starved = (
        pulse.percentile_s(0.99, since=calm, until=began),
        pulse.percentile_s(0.99, since=began, until=ended),
    )
    print(f"{LOOPS} busy loops: p99 {before * 1000:.0f} ms before, {starved * 1000:.0f} ms meanwhile; {ledger_audit}")
    assert ledger_audit.is_clean, ledger_audit
    assert set(pulse.outcomes) <= {"post 201", "post 503", "read 200", "read 503"}
    assert starved <= REQUEST_DEADLINE_S + 1.5
