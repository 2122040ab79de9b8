"""A whole site driven by Hypothesis: its services, its clock, and the plain model.

Other classes (`site_machine_*.py`) add the actions, the faults and the invariants;
tests/contract/site/test_state_machine.py combines them.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from itertools import permutations
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.migration.store_factory import open_store
from socialsite.service_config import ServiceConfig
from tests.support.site_model import SiteModel
from tests.support.topologies import Deployment
from tests.support.world import World

SMALL_CONFIG = ServiceConfig(home_cap=6, list_cap=6, posts_per_pass=1, time_slice_ms=0, read_ahead=1)
"""Limits so small that floors and trims occur often, with a job per pass: a pass has three followers, or nine on a
cluster of three.
"""
PEOPLE, MOST_PEOPLE = 4, 6
"""Number of accounts at the start, and the most that may sign up."""
FOLLOWER_COUNT = 12
"""Accounts that follow the first accounts and never read: their posts need several passes."""
PERSON_INDEXES = st.integers(0, MOST_PEOPLE - 1)
ITEM_INDEXES = st.integers(0, 1_000)

Answer = TypeVar("Answer")


class SiteMachine(RuleBasedStateMachine):
    """One history. The test sets `deployment` and `config`."""

    deployment: Deployment
    config: ServiceConfig = SMALL_CONFIG
    tally: ClassVar[Counter[str]] = Counter()
    """Counters over all histories: steps, calms, posts, passes, interrupted and adopted jobs, lost caches."""

    def __init__(self) -> None:
        super().__init__()
        self.deployment.flush()
        self.runner = asyncio.Runner()
        self.clock = FixedClock(1_900_000_000_000)
        self.model = SiteModel(now_ms=self.clock.now_ms())
        self.changed = False
        self.owed = False
        self.edited = False
        self.dead_workers = 0

    def run_coroutine(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return self.runner.run(work)

    @initialize(befriended=st.booleans())
    def begin(self, befriended: bool) -> None:
        """Start with accounts that are strangers, or that follow each other and have read their homes."""
        self.run_coroutine(self._begin(befriended))

    async def _begin(self, befriended: bool) -> None:
        self.store = await open_store(self.deployment.urls)
        self.services = Services(self.store, self.clock, self.config)
        self.world = World(self.services)
        self.other_process = Services(self.store, self.clock, self.config)
        await self.services.outbox.create_group()
        people = await self.world.people(*(f"p{number}" for number in range(PEOPLE)))
        for fan in await self.world.people(*(f"fan{number}" for number in range(FOLLOWER_COUNT))):
            for one in people:
                await fan.follows(one)
        self.model.people = [int(person.id) for person in people]
        for one, other in permutations(people, 2) if befriended else ():
            await one.follows(other)
            await one.home()
            self.model.follow(one.id, other.id)

    async def run_interrupted(self, work: Coroutine[Any, Any, object], after: int) -> None:
        """Cancel the work after so many turns of the loop; commands sent before stay sent."""
        doing = asyncio.ensure_future(work)
        for _ in range(after):
            await asyncio.sleep(0)
        doing.cancel()
        await asyncio.gather(doing, return_exceptions=True)

    # Choices of accounts and posts

    def active(self, who: int) -> AccountId:
        """Return an account that is not suspended; one always exists."""
        active = [id for id in self.model.people if id not in self.model.suspended]
        return AccountId(active[who % len(active)])

    def pick_two(self, who: int, other: int) -> tuple[AccountId, AccountId] | None:
        """Return two active accounts without a block between them, or None."""
        one, another = self.active(who), self.active(other)
        return None if one == another or self.model.is_block_between(one, another) else (one, another)

    def visible(self, viewer: int, which: int, *, boostable: bool = False) -> PostId | None:
        """Return a post (no boost) that the viewer sees on its own page, or None."""
        model = self.model
        post_ids = [id for id, post in model.posts.items() if not post.boost_of and model.may_see(viewer, id, "post")]
        if boostable:
            post_ids = [
                id for id in post_ids if model.posts[id].audience < 2 and model.posts[id].author not in model.private
            ]
        return PostId(sorted(post_ids)[which % len(post_ids)]) if post_ids else None
