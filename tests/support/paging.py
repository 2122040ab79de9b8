"""Read all followers of one account, by pages or by passes."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from socialsite.ids import AccountId
from tests.support.models import examples
from timelines.graph.follow import FIRST_PASS, FollowCursor
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
