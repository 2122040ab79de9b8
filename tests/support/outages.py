"""Outages of servers under a steady load, and what users lost (docs/reference/reliability.md).

Each case starts its servers, a real daphne and a worker, and reads the whole site afterwards. The tests in tests/faults
run each case once; `python -m tests.support.reliability` runs them often and prints the table.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from socialsite.store.slots import slot_of_tag
from tests.support.cluster import ClusterMember, RedisCluster
from tests.support.load import LoadOutcome, SteadyLoad
from tests.support.redis_server import RedisServer
from tests.support.sentinel import SentinelDeployment
from tests.support.sites import running_site
from tests.support.waiting import wait_until

STEADY_LOAD_S = float(os.environ.get("OUTAGE_CALM_SECONDS", "2"))
"""Seconds of load before and after the outage."""
REPLICA_LAG_S = 2.0
"""Seconds of load while a replica receives nothing."""
RESTART_DELAY_S = 3.0
"""Seconds until a supervisor restarts a killed server."""
RESHARD_SLOTS = 2_000
OUTBOX_KEY = "jobs:{outbox}:stream"
WAITING_KEY = "jobs:{outbox}:waiting"
"""The authors with jobs that wait for their turn."""


@dataclass(frozen=True)
class OutageServers:
    """The servers of a site; `owed()` returns the number of jobs in its outbox."""

    url: str
    owed: Callable[[], int]


@dataclass(frozen=True)
class OutageResult:
    """The result of a case. `outage_s` lasts from the fault until every server has recovered."""

    outcome: LoadOutcome
    outage_s: float


def run_outage(servers: OutageServers, blow: Callable[[], None], *, confirmed: bool) -> OutageResult:
    """Serve under load, cause the outage, wait for recovery and read everything.

    `confirmed`: run with REQUIRE_REPLICAS=1.
    """
    settings = {"REQUIRE_REPLICAS": "1" if confirmed else "0"}
    with tempfile.TemporaryDirectory(prefix="outage") as directory, running_site(servers.url, **settings) as site:
        load = SteadyLoad(site.url, Path(directory))
        with load:
            time.sleep(STEADY_LOAD_S)
            began = time.monotonic()
            blow()
            outage_s = time.monotonic() - began
            time.sleep(STEADY_LOAD_S)
            wait_until(lambda: load.has_tried_enough, "enough posts and follows", 60)
        wait_until(lambda: servers.owed() == 0, "the worker to have nothing left", 60)
        assert site.is_alive, site.log[-2000:]
        print("\n".join(line for line in site.log.splitlines() if '"status": 500' in line or "Traceback" in line))
        return OutageResult(load.outcome(), outage_s)


# Redis Cluster


@contextlib.contextmanager
def running_cluster() -> Iterator[RedisCluster]:
    """Three masters with a replica each."""
    cluster = RedisCluster(masters=3, replicas=1)
    try:
        yield cluster.start()
    finally:
        cluster.stop()


def servers_of(cluster: RedisCluster) -> OutageServers:
    return OutageServers(cluster.url, lambda: count_cluster_jobs(cluster))


def count_cluster_jobs(cluster: RedisCluster) -> int:
    slot = slot_of_tag("outbox")
    living = next(member for member in cluster.members if member.is_running)
    with living.client() as client:
        slots = client.execute_command("CLUSTER SLOTS")
    port = next(int(master[1]) for first, last, master, *_ in slots if first <= slot <= last)
    owner = next(member for member in cluster.members if member.port == port)
    with owner.client() as client:
        return int(client.xlen(OUTBOX_KEY) + client.zcard(WAITING_KEY))


def a_master_is_killed(victim: int, *, confirmed: bool) -> OutageResult:
    """Kill a master with SIGKILL: its replica is elected, and a supervisor restarts the old master as a replica."""
    with running_cluster() as cluster:
        return run_outage(servers_of(cluster), lambda: lose_master(cluster, victim), confirmed=confirmed)


def a_lagging_replica_takes_over(victim: int, *, confirmed: bool) -> OutageResult:
    """Pause a replica for some seconds, then kill its master, so that the outdated replica is elected."""
    with running_cluster() as cluster:

        def blow() -> None:
            replica = cluster.replicas[victim]
            replica.signal(signal.SIGSTOP)
            with cluster.masters[victim].client() as client:
                # Bytes in the sockets' buffers would still arrive; after a real network cut they do not.
                client.execute_command("CLIENT", "KILL", "TYPE", "replica")
            time.sleep(REPLICA_LAG_S)
            lose_master(cluster, victim, wake=replica)

        return run_outage(servers_of(cluster), blow, confirmed=confirmed)


def slots_are_moved(victim: int) -> OutageResult:
    """Move slots with `redis-cli --cluster reshard`, as an operator does."""
    with running_cluster() as cluster:
        return run_outage(servers_of(cluster), lambda: reshard(cluster, victim), confirmed=False)


def lose_master(cluster: RedisCluster, victim: int, *, wake: ClusterMember | None = None) -> None:
    master, replica = cluster.masters[victim], cluster.replicas[victim]
    master.kill()
    killed = time.monotonic()
    if wake is not None:
        wake.signal(signal.SIGCONT)
    wait_until(lambda: role_of(replica) == "master", "the replica to take over")
    time.sleep(max(0.0, killed + RESTART_DELAY_S - time.monotonic()))
    master.start()
    wait_until(lambda: is_recovered(cluster), "the cluster to be whole again")


def role_of(member: ClusterMember) -> str:
    with member.client() as client:
        return str(client.info("replication")["role"])


def is_recovered(cluster: RedisCluster) -> bool:
    """Return whether there are as many masters as before and every replica is in sync."""
    roles = []
    for member in cluster.members:
        with member.client() as client:
            facts = client.info("replication")
        roles.append(facts["role"] if facts.get("master_link_status", "up") == "up" else "cut off")
    return sorted(roles) == ["master"] * len(cluster.masters) + ["slave"] * len(cluster.replicas)


def reshard(cluster: RedisCluster, victim: int) -> None:
    source, target = cluster.masters[victim], cluster.masters[(victim + 1) % len(cluster.masters)]
    ids = []
    for master in (source, target):
        with master.client() as client:
            ids.append(client.execute_command("CLUSTER MYID"))
    command = [
        "redis-cli", "--cluster", "reshard", source.address, "--cluster-from", ids[0], "--cluster-to", ids[1],
        "--cluster-slots", str(RESHARD_SLOTS), "--cluster-yes",
    ]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, (result.stdout + result.stderr)[-2000:]


# Sentinel


def sentinel_fails_over(*, confirmed: bool) -> OutageResult:
    """Kill the master with SIGKILL: Sentinel promotes the replica, and the old master returns as a replica."""
    site = SentinelDeployment()
    try:
        site.start()
        servers = OutageServers(site.url, lambda: count_jobs(site.master))
        return run_outage(servers, lambda: lose_sentinel_master(site), confirmed=confirmed)
    finally:
        site.stop()


def lose_sentinel_master(site: SentinelDeployment) -> None:
    dead = site.master
    heir = site.other(dead)
    dead.kill()
    killed = time.monotonic()
    wait_until(lambda: is_master(heir), "Sentinel to promote the replica")
    time.sleep(max(0.0, killed + RESTART_DELAY_S - time.monotonic()))
    dead.start()
    wait_until(site.is_synced, "the dead master to follow the new one", 60)


def is_master(server: RedisServer) -> bool:
    with server.client() as client:
        return bool(client.info("replication")["role"] == "master")


def count_jobs(server: RedisServer) -> int:
    with server.client() as client:
        return int(client.xlen(OUTBOX_KEY) + client.zcard(WAITING_KEY))
