"""Fixtures for lists over a store: the repositories, and the service with fakes of its neighbours."""

import pytest

from socialsite.clock import FixedClock
from socialsite.limits import ActionLimits
from socialsite.recipes.rate_limit import RateLimiter
from socialsite.store import Store
from tests.support.fakes import FakeAccountDirectory, RecordingTimelineCache, SilentLiveUpdates
from tests.support.lists import ALICE, LISTS_CAP, MEMBERS_CAP
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.ids import ListId
from timelines.lists.repository import ListMembers, Lists
from timelines.lists.rules import ListRules
from timelines.lists.service import ListService


@pytest.fixture
def timelines() -> RecordingTimelineCache:
    return RecordingTimelineCache()


@pytest.fixture
def lists(store: Store) -> Lists:
    return Lists(store)


@pytest.fixture
def members(store: Store) -> ListMembers:
    return ListMembers(store, partitions=16, members_cap=MEMBERS_CAP)


@pytest.fixture
def service(
    store: Store, lists: Lists, members: ListMembers, people: FakeAccountDirectory, timelines: RecordingTimelineCache
) -> ListService:
    follows = Follows(store, partitions=16, following_cap=100)
    return ListService(
        repository=lists,
        memberships=members,
        accounts=people,
        timelines=timelines,
        rules=ListRules(lists, members, follows),
        reading=None,  # no test of this service reads a timeline
        follows=follows,
        follow_requests=FollowRequests(store),
        live=SilentLiveUpdates(),
        limits=ActionLimits(RateLimiter(store), {}, FixedClock(0)),
        members_cap=MEMBERS_CAP,
        lists_cap=LISTS_CAP,
        find_refusal=None,  # no test of this service makes a list public
    )


@pytest.fixture
async def news(service: ListService) -> ListId:
    return (await service.create(owner_id=ALICE, title="News", now_ms=1000)).id
