"""Faults of a driven site: workers die during a job, jobs are repeated, caches are lost."""

from collections.abc import Sequence
from itertools import chain

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from socialsite.ids import AccountId
from socialsite.store import Key
from tests.support.site_machine import PERSON_INDEXES
from tests.support.site_machine_acts import POST_DRAFTS, PeopleActions, PostDrafts
from tests.support.site_machine_pages import ADOPTING_WORKER
from timelines import keys

SHARED_CACHE_PATTERNS = ("public:*", "timelines:*:tag", "search:*", "posts:*:preview", "series:{popular}:posts:*")
"""Caches that are rebuilt only by `rebuild_timelines --all` or by the worker, not by reads."""


def own_caches(owner: int, lists: Sequence[int]) -> list[Key]:
    """Return the keys of caches that the owner's next read rebuilds."""
    return [keys.home_timeline(owner), *map(keys.list_timeline, lists)]


class FaultActions(PeopleActions):
    @precondition(lambda self: self.owed)
    @rule(jobs=st.integers(1, 6), times=st.integers(1, 2), finishes=st.booleans())
    def work(self, jobs: int, times: int, finishes: bool) -> None:
        """Perform some jobs, perhaps twice. They may stay in the outbox, as after a lost reply."""
        self.run_coroutine(self._work(jobs, times, finishes))

    async def _work(self, jobs: int, times: int, finishes: bool) -> None:
        outbox = self.services.outbox
        for job in await outbox.fetch(ADOPTING_WORKER, jobs, 1):
            following: tuple[bytes, ...] = ()
            for _ in range(times):
                following = await self.services.fan_out.handle(job.payload)
            self.tally["passes"] += len(following)
            if finishes:
                await outbox.finish(job, following)
            else:
                await outbox.finish(job, (job.payload,))

    @precondition(lambda self: self.owed)
    @rule(after=st.integers(0, 60), jobs=st.integers(1, 2))
    def worker_dies(self, after: int, jobs: int) -> None:
        """Kill a worker during a job: the job stays pending for the dead worker until another adopts it."""
        self.run_coroutine(self._worker_dies(after, jobs))

    async def _worker_dies(self, after: int, jobs: int) -> None:
        self.dead_workers += 1
        jobs_taken = await self.services.outbox.fetch(f"dead{self.dead_workers:04x}", jobs, 1)
        if jobs_taken:
            self.tally["jobs cut off"] += 1
            await self.run_interrupted(self.services.fan_out.handle(jobs_taken[0].payload), after)

    @rule(said=POST_DRAFTS, after=st.integers(0, 60), dying=st.integers(1, 3))
    def post_while_workers_die(self, said: PostDrafts, after: int, dying: int) -> None:
        """Publish posts, while several workers die during their jobs."""
        self.post(said)
        for _ in range(dying):
            self.run_coroutine(self._worker_dies(after, 1))

    @precondition(lambda self: self.dead_workers)
    @rule()
    def adopt_dead_workers_jobs(self) -> None:
        self.run_coroutine(self.adopt())

    @rule(who=PERSON_INDEXES)
    def drop_own_caches(self, who: int) -> None:
        self.tally["caches lost"] += 1
        owner = self.model.people[who % len(self.model.people)]
        lists = [id for id, (of, _) in self.model.lists.items() if of == owner]
        self.run_coroutine(self.store.execute_all([("DEL", key) for key in own_caches(owner, lists)]))

    @rule()
    def drop_shared_caches(self) -> None:
        """Delete the public, hashtag and search caches and previews, then rebuild what the command rebuilds."""
        for master in self.deployment.masters():
            with master:
                for key in chain.from_iterable(map(master.scan_iter, SHARED_CACHE_PATTERNS)):
                    master.delete(key)
        self.tally["caches lost"] += 1
        self.run_coroutine(self._rebuild())

    async def _rebuild(self) -> None:
        people = [AccountId(id) for id in self.model.people]
        await self.services.rebuilds.rebuild_public(people)
        await self.services.rebuilds.rebuild_tags(people)
        await self.services.rebuilds.rebuild_search(people)
