"""Replicas: who answers reads that may be a second old, and only while their age is known to be less.

Age is measured, never believed. A look asks the master for its replication offset, then the replica how far
it has come. A replica at or beyond an offset has every write that was acknowledged before that offset was
asked for, so its age is at most the time since then, by the clock of this process alone: no clocks are
compared, nothing is written, and a link that only claims to be up proves nothing. Where a look fails, or the
replica has not come far enough, the master answers; callers never notice.
"""

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from socialsite.store.address import Address
from socialsite.store.commands import Command, Reply, encode
from socialsite.store.connection import PipelinedConnection
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.node import Node
from socialsite.store.replies import parse_info

MAX_REPLICA_LAG_S = 1.0
"""How old an answer of a replica may be when it reaches the caller."""
REPLICA_TIMEOUT_S = 0.5
"""A replica that has not answered by then is left, and the master asked instead."""
MAX_DATA_AGE_S = MAX_REPLICA_LAG_S - REPLICA_TIMEOUT_S
"""How old its data may be when it is asked."""
PROBE_INTERVAL_S = 0.1
PROBE_RETRY_DELAY_S = 1.0
PROBE_IDLE_TIMEOUT_S = 10.0
"""Looks go on for so long after the last read, so that a quiet minute costs nothing."""

log = logging.getLogger(__name__)


class NotAReplica(StoreError):
    """A server named as a replica is none of this master. The message says what to do."""


@dataclass(frozen=True, slots=True)
class MasterOffset:
    """The master's history and how far it had come, asked for at `at_s` (the event loop's clock)."""

    measured_at_s: float
    replication_id: str
    offset: int


class ReplicaNode(Node):
    """A replica, for reads alone. What it cannot answer in time the master answers."""

    def __init__(self, address: Address, master: Node) -> None:
        super().__init__(address, reply_timeout_s=REPLICA_TIMEOUT_S / 2)
        self.master = master
        self._master_offsets: deque[MasterOffset] = deque(maxlen=int(MAX_DATA_AGE_S / PROBE_INTERVAL_S) + 1)
        self._fresh_until = self._probe_until = float("-inf")
        self._probe_task: asyncio.Task[None] | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether its data is less than MAX_DATA_AGE_S old."""
        return self._connection is not None and asyncio.get_running_loop().time() < self._fresh_until

    def keep_probing(self) -> None:
        """Keep looking at it: somebody would read here."""
        self._probe_until = asyncio.get_running_loop().time() + PROBE_IDLE_TIMEOUT_S
        if self._probe_task is None or self._probe_task.done():
            self._probe_task = asyncio.create_task(self._probe_while_used())

    def set_master(self, master: Node) -> None:
        """It is a replica of this one from now on."""
        if master is not self.master:
            self.master = master
            self.mark_stale()

    def mark_stale(self) -> None:
        """Do not use it before it was looked at anew."""
        self._master_offsets.clear()
        self._fresh_until = float("-inf")

    async def pipeline(self, commands: Iterable[Command]) -> list[Reply]:
        """Reads. Answered by the master where the replica fails or refuses."""
        commands = list(commands)
        try:
            return await super().pipeline(commands)
        except StoreError as error:
            log.debug("the replica %s is left: %s", self.address, error)
            self.mark_stale()
            return await self.master.pipeline(commands)

    @property
    def disconnect_count(self) -> int:
        """It is only read from: what it forgets its master has."""
        return 0

    async def wait_for_aof(self) -> None:
        """As `losses`: nothing is looked for."""

    async def probe(self) -> None:
        """See how far master and replica have come. Raises StoreError."""
        mark = await self._read_master_offset()
        (told,) = await Node.pipeline(self, [("INFO", "replication")])
        facts = parse_info(told)
        if mark is None or not is_connected_replica(facts):
            self.mark_stale()
            return
        self._master_offsets.append(mark)
        reached = [mark.measured_at_s for mark in self._master_offsets if has_reached_offset(facts, mark)]
        if reached:
            self._fresh_until = reached[-1] + MAX_DATA_AGE_S

    async def check_role(self) -> None:
        """At start: refuse a server that follows another master, or none. One that is away may come back.

        Raises NotAReplica.
        """
        try:
            await self.probe()
            (told,) = await Node.pipeline(self, [("INFO", "replication")])
        except StoreUnavailable as error:
            log.warning("the replica %s cannot be read from yet: %s", self.address, error)
            return
        facts = parse_info(told)
        if facts.get("role") != "slave":
            raise NotAReplica(
                f"{self.address} is not a replica: "
                f"make it one of {self.master.address} (replicaof), or take it out of the URL"
            )
        if (
            is_connected_replica(facts)
            and self._master_offsets
            and facts["master_replid"] != self._master_offsets[-1].replication_id
        ):
            raise NotAReplica(
                f"{self.address} is a replica of another master than {self.master.address}: "
                "let it follow this one (replicaof), or take it out of the URL"
            )

    async def close(self) -> None:
        if self._probe_task is not None:
            self._probe_task.cancel()
            await asyncio.gather(self._probe_task, return_exceptions=True)
        await super().close()

    async def _probe_while_used(self) -> None:
        now = asyncio.get_running_loop().time
        while now() < self._probe_until:
            wait_s = PROBE_INTERVAL_S
            try:
                await self.probe()
            except StoreError as error:
                log.debug("the replica %s cannot be read from: %s", self.address, error)
                self.mark_stale()
                wait_s = PROBE_RETRY_DELAY_S
            await asyncio.sleep(wait_s)

    async def _read_master_offset(self) -> MasterOffset | None:
        """How far the master is; None where its replicas are of no use now."""
        if self.master.replaced_by is not None:  # its data has moved: who answers there has other replicas
            return None
        asked_s = asyncio.get_running_loop().time()
        (told,) = await self.master.pipeline([("INFO", "replication")])
        facts = parse_info(told)
        if facts.get("role") != "master" or self.master.replaced_by is not None:
            return None
        return MasterOffset(asked_s, facts["master_replid"], int(facts["master_repl_offset"]))

    async def _prepare(self, connection: PipelinedConnection) -> None:
        self.connection_gate = self.master.connection_gate
        await super()._prepare(connection)


class ClusterReplica(ReplicaNode):
    """Of a cluster's master. Not asked while slots move: for a key that went it would answer "empty"."""

    async def pipeline(self, commands: Iterable[Command]) -> list[Reply]:
        """An empty list may be a key that left since the last look, so the master is asked for it again."""
        commands = list(commands)
        replies = await super().pipeline(commands)
        empty = [number for number, reply in enumerate(replies) if reply == []]
        if empty:
            again = await self.master.pipeline([commands[number] for number in empty])
            for number, reply in zip(empty, again, strict=True):
                replies[number] = reply
        return replies

    async def _read_master_offset(self) -> MasterOffset | None:
        (nodes,) = await self.master.pipeline([("CLUSTER", "NODES")])
        return None if is_moving_slots(nodes) else await super()._read_master_offset()

    async def _prepare(self, connection: PipelinedConnection) -> None:
        await super()._prepare(connection)
        (answer,) = await connection.send(encode(("READONLY",)), 1)
        if isinstance(answer, StoreError):
            raise answer


class Replicas:
    """The replicas of one master; those that are fresh take turns."""

    def __init__(self, nodes: Iterable[ReplicaNode]) -> None:
        self.nodes = tuple(nodes)
        self._round_robin = itertools.count()

    def pick_fresh(self) -> Node | None:
        """A fresh one, None where there is none."""
        for node in self.nodes:
            node.keep_probing()
        fresh = [node for node in self.nodes if node.is_fresh]
        return fresh[next(self._round_robin) % len(fresh)] if fresh else None


def is_connected_replica(facts: Mapping[str, str]) -> bool:
    """Whether a server is a replica and connected to its master."""
    return facts.get("role") == "slave" and facts.get("master_link_status") == "up"


def has_reached_offset(facts: Mapping[str, str], mark: MasterOffset) -> bool:
    """Whether a replica carried out (`slave_repl_offset`) all that its master had by the mark."""
    return facts["master_replid"] == mark.replication_id and int(facts["slave_repl_offset"]) >= mark.offset


def is_moving_slots(nodes: bytes) -> bool:
    """Whether the node that answered CLUSTER NODES gives or takes a slot: `[93->-id]`, `[77-<-id]`."""
    own = next((line for line in nodes.decode().splitlines() if "myself" in line), "")
    return "[" in own
