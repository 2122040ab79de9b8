"""A real Redis Cluster on loopback for tests, formed by CLUSTER commands in a few seconds."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Self

import redis

from tests.support.ports import free_port
from tests.support.redis_server import RedisServer
from tests.support.replicas import is_replicated
from tests.support.waiting import wait_until

SLOTS = 16_384


class ClusterMember(RedisServer):
    """One server of the cluster. It keeps its directory and port over restarts."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        options = (
            "--port", str(self.port), "--bind", "127.0.0.1",
            "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
            "--cluster-node-timeout", "2000", "--cluster-allow-replica-migration", "no",
            "--repl-diskless-sync-delay", "0",
        )  # fmt: skip
        super().__init__(aof=True, directory=directory / str(self.port), options=options)
        self.directory.mkdir()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port, socket_timeout=5, decode_responses=True)


class RedisCluster:
    """A cluster whose masters share the slots evenly; each has `replicas` replicas."""

    def __init__(self, *, masters: int = 3, replicas: int = 0) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="ss-cluster-", dir="/tmp"))
        self.masters = [ClusterMember(self.directory) for _ in range(masters)]
        self.replicas = [ClusterMember(self.directory) for _ in range(masters * replicas)]

    @property
    def members(self) -> list[ClusterMember]:
        return [*self.masters, *self.replicas]

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(member.address for member in self.members)

    def start(self) -> Self:
        for member in self.members:
            member.start()
        share = -(-SLOTS // len(self.masters))
        for number, master in enumerate(self.masters):
            last = min(SLOTS, (number + 1) * share) - 1
            with master.client() as client:
                client.execute_command("CLUSTER ADDSLOTSRANGE", number * share, last)
                client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
        with self.masters[0].client() as first:
            for member in self.members[1:]:
                first.execute_command("CLUSTER MEET", "127.0.0.1", member.port)
        wait_until(self._is_fully_meshed, "the members to meet")
        for number, replica in enumerate(self.replicas):
            with self.masters[number % len(self.masters)].client() as client:
                master_id = client.execute_command("CLUSTER MYID")
            wait_until(partial(is_replica_of, replica, master_id), "a replica to know its master")
        wait_until(self.is_healthy, "the cluster to be whole")
        for master in self.masters if self.replicas else []:
            with master.client() as client:
                wait_until(partial(is_replicated, client), "the replicas to have the data")
        return self

    def _is_fully_meshed(self) -> bool:
        return all(self._info(member, "cluster_known_nodes") == str(len(self.members)) for member in self.members)

    def is_healthy(self) -> bool:
        """Return whether every member reports the state ok and every replica is in sync."""
        states = {self._info(member, "cluster_state") for member in self.members}
        return states == {"ok"} and all(self._is_synced(replica) for replica in self.replicas)

    @staticmethod
    def _info(member: ClusterMember, field: str) -> str:
        with member.client() as client:
            info = client.execute_command("CLUSTER INFO")
        facts = info if isinstance(info, dict) else dict(line.split(":", 1) for line in info.splitlines())
        return str(facts[field])

    @staticmethod
    def _is_synced(replica: ClusterMember) -> bool:
        with replica.client() as client:
            facts = client.info("replication")
        return bool(facts.get("role") == "slave" and facts.get("master_link_status") == "up")

    def flush(self) -> None:
        for member in self.masters:
            member.flush()

    @contextlib.contextmanager
    def without_slot(self, slot: int) -> Iterator[None]:
        """Leave the slot without an owner meanwhile; the other slots stay available."""
        owner = next(master for master in self.masters if owns_slot(master, slot))
        for member in self.members:
            with member.client() as client:
                client.config_set("cluster-require-full-coverage", "no")
                client.execute_command("CLUSTER DELSLOTS", slot)
        try:
            yield
        finally:
            with owner.client() as client:
                client.execute_command("CLUSTER ADDSLOTS", slot)
            for member in self.members:
                with member.client() as client:
                    client.config_set("cluster-require-full-coverage", "yes")
            wait_until(self.is_healthy, "the cluster to be whole again")

    def move_slot(self, slot: int, source: ClusterMember, target: ClusterMember) -> Iterator[None]:
        """Move one slot in steps, one per iteration: importing, migrating, keys moved, owner changed."""
        with source.client() as at_source, target.client() as at_target:
            source_id = at_source.execute_command("CLUSTER MYID")
            target_id = at_target.execute_command("CLUSTER MYID")
            at_target.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", source_id)
            at_source.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", target_id)
            yield
            while keys := at_source.execute_command("CLUSTER GETKEYSINSLOT", slot, 10):
                at_source.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
                yield
            for client in (at_target, at_source):
                client.execute_command("CLUSTER SETSLOT", slot, "NODE", target_id)

    def stop(self) -> None:
        for member in self.members:
            member.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


def is_replica_of(replica: ClusterMember, master_id: str) -> bool:
    """Set the master of a replica. Returns False if the replica does not know the master's id yet."""
    with replica.client() as client, contextlib.suppress(redis.ResponseError):
        client.execute_command("CLUSTER REPLICATE", master_id)
        return True
    return False


def owns_slot(master: ClusterMember, slot: int) -> bool:
    with master.client() as client:
        nodes = client.execute_command("CLUSTER NODES").values()
    ranges = next(node["slots"] for node in nodes if "myself" in node["flags"])
    return any(int(each[0]) <= slot <= int(each[-1]) for each in ranges)
