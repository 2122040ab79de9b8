"""Change the number of partitions of a component's edges while the site serves.

The new partitions are built beside the old ones, with another prefix. Processes report the keys that they write
meanwhile, and these edges are copied again, in rounds, until few are left. Then writes are blocked for a moment, the
last edges are copied and compared, and all processes switch. The old partitions remain for jobs and requests that
still read them and are deleted after OLD_PARTITIONS_GRACE_S.
"""

import asyncio
from dataclasses import dataclass

from socialsite.migration.edge_copier import EdgeCopier, EdgeOwner
from socialsite.migration.errors import MigrationRefused, ProcessesNotFollowing
from socialsite.migration.migration_session import MigrationSession
from socialsite.migration.migrator import FOLLOW_TIMEOUT_S, MAX_TRIES, MAX_WRITE_BLOCK_S, RETRY_DELAY_S
from socialsite.migration.placement_map import DONE, READS_SWITCHED, SOURCE, WRITES_BLOCKED, Repartition
from socialsite.migration.process_barrier import ProcessBarrier
from socialsite.migration.progress import MigrationProgress, OnProgress, RepartitionReport
from socialsite.store.errors import StoreUnavailable
from socialsite.store.key import Key

OLD_PARTITIONS_GRACE_S = 60.0
"""The time until the old partitions are deleted. It is longer than any job or request that may read them."""
MAX_OWNERS_WHILE_BLOCKED = 50
"""The maximum number of owners whose edges are copied while writers wait. Each owner takes a few ms."""
MAX_COPY_ROUNDS = 30


@dataclass(frozen=True, slots=True)
class EdgeFamily:
    """The edges of a component, as the application names them.

    `reverse_names` maps the name of an outgoing side to the name of its incoming side. `count_key` stores the number
    of partitions.
    """

    component: str
    reverse_names: dict[str, str]
    count_key: Key


class Repartitioner:
    """Executes the repartition of the session's placement map."""

    def __init__(self, session: MigrationSession, edges: EdgeFamily, on_progress: OnProgress | None = None) -> None:
        assert session.migration.repartition is not None
        self._session = session
        self._registry = session.registry
        self._stores = session.stores
        self._repartition: Repartition = session.migration.repartition
        self._count_key = edges.count_key
        self._store = session.stores.store(session.placement_map.url_of(self._repartition.component))
        self._copier = EdgeCopier(self._store, self._repartition, edges.reverse_names)
        self._is_copy_complete = False
        self._barrier = ProcessBarrier(session.registry, session.stores, self._invalidate_copy)
        self._on_progress = on_progress or (lambda progress: None)
        self.report = RepartitionReport()

    async def run(self, grace_s: float) -> RepartitionReport:
        """Repartition, then delete the old partitions. After an interruption, another migrator may call it again."""
        await self._stores.kill_other_migrators()
        await self._write_state(DONE if self._state == DONE else SOURCE)
        await self._wait_for_processes(FOLLOW_TIMEOUT_S)
        await self._stores.kill_clients_outside(self._session.migration.id, self._session.placement_map.epoch)
        if self._state != DONE:
            await self._switch_over()
        self._on_progress(MigrationProgress("waiting", -1, 1, 1))
        await asyncio.sleep(grace_s)
        for url in (self._session.placement_map.url_of(self._repartition.component), self._stores.home_url):
            await self._stores.wait_until_durable(url)
        await self._copier.delete_layout(self._repartition.source)
        layouts = {
            **self._session.placement_map.partition_layouts,
            self._repartition.component: self._repartition.target,
        }
        await self._session.write_epoch(migration=None, partition_layouts=layouts)
        await self._wait_for_processes(FOLLOW_TIMEOUT_S)
        return self.report

    @property
    def _state(self) -> int:
        return self._session.migration.slice_states[0]

    # Copying

    async def _switch_over(self) -> None:
        for _ in range(MAX_TRIES):
            await self._catch_up()
            if await self._try_switch():
                return
            self.report.retries += 1
            await asyncio.sleep(RETRY_DELAY_S)
        raise MigrationRefused(
            "the edges could not be turned over in a moment: everything is as before; repeat it when the "
            "site is quieter"
        )

    async def _catch_up(self) -> None:
        """Copy all edges. Then copy the edges that were written meanwhile, in rounds, until few are left."""
        for _ in range(MAX_COPY_ROUNDS):
            if not self._is_copy_complete:
                self._is_copy_complete = True
                self.report.edges = await self._copier.copy_all()
                self._on_progress(MigrationProgress("copying", -1, 0, 1))
            await self._write_state(SOURCE)
            await self._wait_for_processes(FOLLOW_TIMEOUT_S)
            owners = await self._pop_touched_owners()
            await self._copier.copy(owners)
            self.report.rounds += 1
            if self._is_copy_complete and len(owners) <= MAX_OWNERS_WHILE_BLOCKED:
                return

    async def _try_switch(self) -> bool:
        """Switch to the new partitions. Return False if it took too long and was rolled back."""
        try:
            async with asyncio.timeout(MAX_WRITE_BLOCK_S):
                await self._write_state(WRITES_BLOCKED)
                await self._wait_for_processes(MAX_WRITE_BLOCK_S)
                if not self._is_copy_complete:
                    raise ProcessesNotFollowing([])
                owners = await self._pop_touched_owners()
                await self._copier.copy(owners)
                await self._copier.compare(owners)
                await self._stores.wait_until_durable(self._session.placement_map.url_of(self._repartition.component))
                await self._write_state(READS_SWITCHED)
                await self._wait_for_processes(MAX_WRITE_BLOCK_S)
                self._on_progress(MigrationProgress("turning", -1, 0, 1))
        except (TimeoutError, ProcessesNotFollowing, StoreUnavailable):
            self._session.placement_map = await self._registry.read_map()
            self._is_copy_complete = False  # changed owners may have left the list without being copied
            await self._write_state(SOURCE)
            await self._wait_for_processes(FOLLOW_TIMEOUT_S)
            return False
        await self._store.node(self._count_key).execute("SET", self._count_key, self._repartition.target.count)
        await self._write_state(DONE)
        await self._wait_for_processes(FOLLOW_TIMEOUT_S)  # then all processes write to the new partitions
        return True

    async def _pop_touched_owners(self) -> set[EdgeOwner]:
        """Return the owners of edges that were written since the last round."""
        names = await self._registry.pop_touched_keys(0)
        owners = (self._copier.parse_owner(Key.parse(name)) for name in names)
        return {owner for owner in owners if owner is not None}

    def _invalidate_copy(self) -> None:
        """Copy everything again, because a process died without reporting the keys that it wrote."""
        self._is_copy_complete = False

    # Steps

    async def _wait_for_processes(self, timeout_s: float) -> None:
        await self._barrier.wait_for_epoch(self._session.placement_map.epoch, timeout_s)

    async def _write_state(self, state: int) -> None:
        await self._session.write_epoch(migration=self._session.migration.with_states({0: state}))
