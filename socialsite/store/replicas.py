"""Replicas answer reads that may lag, as long as a probe shows that their data is recent.

A probe reads the replication offset of the master, then that of the replica. A replica that has reached an offset has
every write that was acknowledged before the offset was read. So the age of its data is at most the time since then,
by the clock of this process. Clocks of servers are not compared, and the link status is not trusted. If a probe fails
or the replica is behind, the master answers.
"""

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from socialsite.store.address import Address
from socialsite.store.commands import Command, Reply, encode
from socialsite.store.connection import PipelinedConnection
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.node import Node, SentCommands
from socialsite.store.replies import parse_info
from socialsite.store.shared_task import SharedTask

MAX_REPLICA_LAG_S = 1.0
"""The maximum age of a replica's data when a reply reaches the caller."""
REPLICA_TIMEOUT_S = 0.5
"""The time limit for the reply of a replica. Afterwards the master answers."""
MAX_DATA_AGE_S = MAX_REPLICA_LAG_S - REPLICA_TIMEOUT_S
"""The maximum age of a replica's data when a read is sent to the replica."""
PROBE_INTERVAL_S = 0.1
PROBE_RETRY_DELAY_S = 1.0
PROBE_IDLE_TIMEOUT_S = 10.0
"""The time after the last read at which the probes end, so that an idle site sends no probes."""

log = logging.getLogger(__name__)


class NotAReplica(StoreError):
    """A server in the URL is not a replica of this master. The message says what to do."""


@dataclass(frozen=True, slots=True)
class MasterOffset:
    """The replication id and offset of a master. `measured_at_s` is the event loop's time before the reading."""

    measured_at_s: float
    replication_id: str
    offset: int


class ReplicaNode(Node):
    """A replica, for reads only. The master answers if the replica fails or is too slow."""

    def __init__(self, address: Address, master: Node) -> None:
        super().__init__(address, reply_timeout_s=REPLICA_TIMEOUT_S / 2)
        self.master = master
        self._master_offsets: deque[MasterOffset] = deque(maxlen=int(MAX_DATA_AGE_S / PROBE_INTERVAL_S) + 1)
        self._fresh_until = self._probe_until = float("-inf")
        self._probing = SharedTask(self._probe_while_used)

    @property
    def is_fresh(self) -> bool:
        """Whether the data is less than MAX_DATA_AGE_S old."""
        return self._connection is not None and asyncio.get_running_loop().time() < self._fresh_until

    def keep_probing(self) -> None:
        """Continue the probes, because a read could use this replica."""
        self._probe_until = asyncio.get_running_loop().time() + PROBE_IDLE_TIMEOUT_S
        self._probing.start()

    def set_master(self, master: Node) -> None:
        if master is not self.master:
            self.master = master
            self.mark_stale()

    def mark_stale(self) -> None:
        """Do not use the replica before the next probe."""
        self._master_offsets.clear()
        self._fresh_until = float("-inf")

    def send_now(self, commands: Sequence[Command]) -> SentCommands | None:
        """Return None, because only `execute_all` lets the master answer if the replica fails."""
        return None

    async def execute_all(self, commands: Iterable[Command]) -> list[Reply]:
        """Run commands that read. The master answers if the replica fails or refuses."""
        commands = list(commands)
        try:
            return await super().execute_all(commands)
        except StoreError as error:
            log.debug("the replica %s is left: %s", self.address, error)
            self.mark_stale()
            return await self.master.execute_all(commands)

    @property
    def disconnect_count(self) -> int:
        """Always 0, because a replica executes no writes that could be lost."""
        return 0

    async def wait_for_aof(self) -> None:
        """Do nothing, because a replica is only read."""

    async def probe(self) -> None:
        """Compare the offsets of master and replica. Raises StoreError."""
        master_offset = await self._read_master_offset()
        info = await self._read_replication_info()
        if master_offset is None or not is_connected_replica(info):
            self.mark_stale()
            return
        self._master_offsets.append(master_offset)
        reached_at_s = [each.measured_at_s for each in self._master_offsets if has_reached_offset(info, each)]
        if reached_at_s:
            self._fresh_until = reached_at_s[-1] + MAX_DATA_AGE_S

    async def check_role(self) -> None:
        """Check at the start that this server is a replica of the master. Raises NotAReplica.

        A server that cannot be reached is accepted, because it may return.
        """
        try:
            await self.probe()
            info = await self._read_replication_info()
        except StoreUnavailable as error:
            log.warning("the replica %s cannot be read from yet: %s", self.address, error)
            return
        if info.get("role") != "slave":
            raise NotAReplica(
                f"{self.address} is not a replica: "
                f"make it one of {self.master.address} (replicaof), or take it out of the URL"
            )
        if (
            is_connected_replica(info)
            and self._master_offsets
            and info["master_replid"] != self._master_offsets[-1].replication_id
        ):
            raise NotAReplica(
                f"{self.address} is a replica of another master than {self.master.address}: "
                "let it follow this one (replicaof), or take it out of the URL"
            )

    async def close(self) -> None:
        await self._probing.cancel()
        await super().close()

    async def _probe_while_used(self) -> None:
        now = asyncio.get_running_loop().time
        while now() < self._probe_until:
            delay_s = PROBE_INTERVAL_S
            try:
                await self.probe()
            except StoreError as error:
                log.debug("the replica %s cannot be read from: %s", self.address, error)
                self.mark_stale()
                delay_s = PROBE_RETRY_DELAY_S
            await asyncio.sleep(delay_s)

    async def _read_replication_info(self) -> dict[str, str]:
        (reply,) = await Node.execute_all(self, [("INFO", "replication")])
        return parse_info(reply)

    async def _read_master_offset(self) -> MasterOffset | None:
        """Return the offset of the master. None means that its replicas cannot be used now."""
        if self.master.replaced_by is not None:  # its data has moved to a node with other replicas
            return None
        measured_at_s = asyncio.get_running_loop().time()
        (reply,) = await self.master.execute_all([("INFO", "replication")])
        info = parse_info(reply)
        if info.get("role") != "master" or self.master.replaced_by is not None:
            return None
        return MasterOffset(measured_at_s, info["master_replid"], int(info["master_repl_offset"]))

    async def _prepare(self, connection: PipelinedConnection) -> None:
        self.connection_gate = self.master.connection_gate
        await super()._prepare(connection)


class ClusterReplica(ReplicaNode):
    """A replica of a cluster's master. It is not used while slots move, because moved keys would look empty."""

    async def execute_all(self, commands: Iterable[Command]) -> list[Reply]:
        """Run commands that read. Repeat empty replies on the master: the key may have moved since the last probe."""
        commands = list(commands)
        replies = await super().execute_all(commands)
        empty_positions = [position for position, reply in enumerate(replies) if reply == []]
        if empty_positions:
            master_replies = await self.master.execute_all([commands[position] for position in empty_positions])
            for position, reply in zip(empty_positions, master_replies, strict=True):
                replies[position] = reply
        return replies

    async def _read_master_offset(self) -> MasterOffset | None:
        (nodes,) = await self.master.execute_all([("CLUSTER", "NODES")])
        return None if is_moving_slots(nodes) else await super()._read_master_offset()

    async def _prepare(self, connection: PipelinedConnection) -> None:
        await super()._prepare(connection)
        (reply,) = await connection.send(encode(("READONLY",)), 1)
        if isinstance(reply, StoreError):
            raise reply


class Replicas:
    """The replicas of one master. The replicas with recent data are used in turn."""

    def __init__(self, nodes: Iterable[ReplicaNode]) -> None:
        self.nodes = tuple(nodes)
        self._round_robin = itertools.count()

    def pick_fresh(self) -> Node | None:
        """Return a replica with recent data, or None."""
        for node in self.nodes:
            node.keep_probing()
        fresh = [node for node in self.nodes if node.is_fresh]
        return fresh[next(self._round_robin) % len(fresh)] if fresh else None


def is_connected_replica(info: Mapping[str, str]) -> bool:
    return info.get("role") == "slave" and info.get("master_link_status") == "up"


def has_reached_offset(info: Mapping[str, str], master: MasterOffset) -> bool:
    """Return whether a replica has executed all writes up to the master's offset."""
    return info["master_replid"] == master.replication_id and int(info["slave_repl_offset"]) >= master.offset


def is_moving_slots(nodes: bytes) -> bool:
    """Return whether a node exports or imports a slot, from its CLUSTER NODES reply: `[93->-id]`, `[77-<-id]`."""
    return "[" in next((line for line in nodes.decode().splitlines() if "myself" in line), "")
