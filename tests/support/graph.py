"""The followers of an account, by pages and by passes, and the relations between two accounts."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.random_tests import examples
from tests.support.world import Person
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.graph.follow import FIRST_PASS, FollowCursor, Relationship
from timelines.graph.repository import Follows

ALICE = AccountId(1)

IDS = st.integers(2, 10**6)

ON_ONE_SERVER = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


async def read_by_pages(follows: Follows, limit: int) -> list[AccountId]:
    follower_ids: list[AccountId] = []
    cursor: FollowCursor | None = None
    while True:
        page = await follows.followers(ALICE, cursor, limit)
        follower_ids.extend(page.account_ids)
        if page.next is None:
            return follower_ids
        assert len(page.account_ids) == limit
        cursor = page.next


async def read_by_passes(follows: Follows, limit: int) -> list[AccountId]:
    follower_ids: list[AccountId] = []
    cursor = FIRST_PASS
    while True:
        page = await follows.followers_pass(ALICE, cursor, limit)
        assert len(page.ids) <= limit
        follower_ids.extend(page.ids)
        if page.next is None:
            return follower_ids
        assert len(page.ids) == limit
        cursor = page.next


def newest_first(times: dict[int, int]) -> list[int]:
    return sorted(times, key=lambda id: (times[id], str(id).encode()), reverse=True)


async def read_relation(services: Services, one: Person, other: Person) -> Relationship:
    return await services.blocks_and_mutes.relationship(one.id, other.id, services.clock.now_ms())


async def follow_request_sides(services: Services, requester: Person, target: Person) -> tuple[bool, bool]:
    """Return whether the request exists at the target, and at the requester."""
    at = services.repositories.follow_requests
    return await at.exists(requester.id, target.id), await at.is_asking(requester.id, target.id)


def service_with_cap_of_one(services: Services) -> BlocksAndMutesService:
    """A service in which every account may block, mute and hide the boosts of one other account."""
    at = services.repositories
    return BlocksAndMutesService(
        store=services.store, blocks_and_mutes=at.blocks_and_mutes,
        follow_requests=at.follow_requests, follows=at.follows,
        accounts=services.accounts, homes=at.homes, live=services.live, limits=services.action_limits,
        blocks_cap=1, mutes_cap=1, hidden_boosts_cap=1,
    )  # fmt: skip
