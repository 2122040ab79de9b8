"""Common followers and follows of two accounts, compared with a plain model of sets."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialsite.ids import AccountId
from socialsite.store import Store
from tests.support.random_tests import examples
from tests.support.topologies import Deployment
from timelines.graph.follow import Follow, FollowCounts
from timelines.graph.repository import Follows

PEOPLE = range(1, 9)
GRAPH = st.dictionaries(
    st.tuples(st.sampled_from(PEOPLE), st.sampled_from(PEOPLE)).filter(lambda pair: pair[0] != pair[1]),
    st.integers(0, 4),
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=GRAPH, first=st.sampled_from([1, 16]))
async def test_intersections_equal_those_of_sets(
    store: Store, deployment: Deployment, graph: dict[tuple[int, int], int], first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`first` is the number of follows per partition in the viewer graph: fewer than all, or all."""
    deployment.empty()
    monkeypatch.setattr("timelines.graph.repository.FOLLOWED_PER_PARTITION", first)
    follows = Follows(store, partitions=4, following_cap=100)
    await follows.add_many(Follow(AccountId(a), AccountId(b), at_ms) for (a, b), at_ms in graph.items())
    following = {me: {b for a, b in graph if a == me} for me in PEOPLE}
    followers = {me: {a for a, b in graph if b == me} for me in PEOPLE}
    for viewer in map(AccountId, PEOPLE):
        assert await follows.counts(viewer) == FollowCounts(len(followers[viewer]), len(following[viewer]))
        assert set(await follows.following_ids(viewer)) == following[viewer]
        for account in map(AccountId, PEOPLE):
            common_ids = following[viewer] & followers[account]
            newest = sorted(common_ids, key=lambda id: (graph[id, account], str(id)), reverse=True)
            graph_of_viewer = await follows.viewer_graph(viewer, account)
            assert graph_of_viewer.counts == FollowCounts(len(followers[account]), len(following[account]))
            assert set(graph_of_viewer.followed_ids) <= following[viewer]
            assert not graph_of_viewer.is_complete or set(graph_of_viewer.followed_ids) == following[viewer]
            known_followers = await follows.send_known_followers(viewer, account, graph_of_viewer, 100)
            assert list(known_followers.account_ids) == newest
            assert (await follows.send_known_followers(viewer, account, graph_of_viewer, 2)).account_ids == tuple(
                newest[:2]
            )
            assert known_followers.followed_by_both == len(following[viewer] & following[account])


async def test_the_server_intersects_a_large_follower_set(store: Store) -> None:
    follows = Follows(store, partitions=16, following_cap=100)
    star, viewer = AccountId(1), AccountId(2)
    await follows.add_many(Follow(AccountId(id), star, id) for id in range(3, 5_003))
    await follows.add_many(Follow(viewer, AccountId(id), 1) for id in range(4_990, 5_010))
    graph_of_viewer = await follows.viewer_graph(viewer, star)
    assert (await follows.send_known_followers(viewer, star, graph_of_viewer, 3)).account_ids == (5_002, 5_001, 5_000)
