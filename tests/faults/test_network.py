"""The network to Redis is slow, cut or loses replies: requests end in time, no post is lost or doubled.

`FAULT_SECONDS=30` makes each fault last longer.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from socialsite.web.handler import REQUEST_DEADLINE_S
from tests.support.fault_proxy import Fault, FaultProxy
from tests.support.load import TimedLoad
from tests.support.outages import count_jobs
from tests.support.processes import PeakThreadCounter
from tests.support.random_tests import mostly_nightly
from tests.support.redis_server import RedisServer
from tests.support.sites import ProductionSite, running_site
from tests.support.waiting import wait_until

FAULT_S = float(os.environ.get("FAULT_SECONDS", "7"))
"""Longer than the deadline of a request."""
DELAY_S = 0.2
"""Per direction."""
SHORT = ("delay", "reset")
"""Faults that end a request at once or never: half the time is enough."""
SLACK_S = 1.5
"""Clients and site share two cores: an answer that is sent may not be read yet."""
RECOVERED_WITHIN_S = 2.0 + SLACK_S
MORE_THREADS = 2
Blow = Callable[[FaultProxy, RedisServer], contextlib.AbstractContextManager[None]]


@pytest.fixture(scope="module")
def proxy(server: RedisServer) -> Iterator[FaultProxy]:
    with FaultProxy(server.socket, delay_s=DELAY_S) as started:
        yield started


@pytest.fixture(scope="module")
def site(proxy: FaultProxy) -> Iterator[ProductionSite]:
    with running_site(proxy.url) as running:
        yield running


@contextlib.contextmanager
def stopped(_: FaultProxy, server: RedisServer) -> Iterator[None]:
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


@contextlib.contextmanager
def paused(_: FaultProxy, server: RedisServer) -> Iterator[None]:
    """The server reads nothing more, as during one long command."""
    with server.client() as client:
        client.execute_command("CLIENT", "PAUSE", int(FAULT_S * 1000), "ALL")
        yield
        with contextlib.suppress(TimeoutError):
            client.execute_command("CLIENT", "UNPAUSE")


def network(fault: Fault) -> Blow:
    return lambda proxy, _: proxy.with_fault(fault)


BLOWS: dict[str, Blow] = {
    **{fault.value: network(fault) for fault in Fault if fault is not Fault.PASS},
    "stopped": stopped,
    "paused": paused,
}
"""The last two are tested at night: for clients they differ from "drop" only in that connections can be opened."""


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_nightly(BLOWS, len(BLOWS) - 2))
def test_no_request_passes_its_deadline_and_nothing_is_lost(
    server: RedisServer, proxy: FaultProxy, site: ProductionSite, tmp_path: Path, name: str
) -> None:
    pulse = TimedLoad(site.url, tmp_path)
    with PeakThreadCounter(site.web_pid) as threads, pulse:
        wait_until(lambda: pulse.is_steady)
        time.sleep(1)
        with BLOWS[name](proxy, server):
            time.sleep(FAULT_S / 2 if name in SHORT else FAULT_S)
        healed = time.monotonic()
        pulse.wait_until_recovered(healed)
        time.sleep(1)
    wait_until(lambda: count_jobs(server) == 0, timeout_s=60)
    ledger_audit = pulse.audit()
    print(
        f"{name}: slowest {pulse.slowest_s:.2f} s, p99.9 {pulse.percentile_s(0.999):.2f} s, "
        f"over {pulse.recovery_time_s(healed):.2f} s after, threads {threads.at_first}..{threads.most}, "
        f"the machine stood still for {pulse.stalls.total_s:.2f} s, {ledger_audit}"
    )
    assert ledger_audit.is_clean, ledger_audit
    assert pulse.outcomes["post 503"] or (name == "delay" and pulse.slowest_s >= 2 * DELAY_S)  # the fault had an effect
    assert set(pulse.outcomes) <= {"post 201", "post 503", "read 200", "read 503"}, ledger_audit
    assert pulse.slowest_s <= REQUEST_DEADLINE_S + SLACK_S + pulse.stalls.total_s
    assert threads.most <= threads.at_first + MORE_THREADS
    assert pulse.recovery_time_s(healed) <= RECOVERED_WITHIN_S + pulse.stalls.total_s
    assert site.is_alive, site.log[-2000:]
