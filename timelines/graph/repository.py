"""The follow graph: pair edges follower -> followed in FOLLOW_PARTITIONS partitions. They are sources.

The repository stores edges. FollowingService decides which follows are allowed.
"""

from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from socialsite.ids import AccountId
from socialsite.store import LazyAwaitable, Read, Reply, Store, combine
from timelines import keys
from timelines.graph.edge_list import EdgeList
from timelines.graph.edges import PairEdges
from timelines.graph.follow import Follow, FollowCounts, KnownFollowers, ViewerGraph

CAP_TOLERANCE = 1_000
"""Reads of a whole list include this number of follows above the cap, which concurrent follows may exceed."""
FOLLOWED_PER_PARTITION = 24
"""The number of followed accounts that `viewer_graph` reads of each partition. For most viewers these are all."""


class Follows:
    """Reads and writes follows. FollowingService enforces `following_cap`; here it only limits reads of whole lists."""

    def __init__(self, store: Store, *, partitions: int, following_cap: int) -> None:
        edges = PairEdges[AccountId, AccountId](
            store.partitioned_component("follows", partitions), outgoing=keys.following, incoming=keys.followers
        )
        self._store, self._read_limit = store, following_cap + CAP_TOLERANCE
        self._edges, self._following, self._followers = edges, edges.outgoing, edges.incoming
        # Writing
        self.remove = edges.remove
        self.add_many = edges.add_many
        """Add follows of an import. Return how many are new. It checks no cap and invalidates no home timeline."""
        self.remove_all = edges.remove_all
        """Remove up to `limit` edges of a deleted account, on both sides. Repeat the call until it returns 0."""
        # Reading
        self.is_following = edges.has
        self.following_count = edges.outgoing.count
        self.followers = edges.incoming.page
        """Read a page of followers after a cursor, newest first."""
        self.following = edges.outgoing.page
        """Read a page of followed accounts after a cursor. The account that was followed last comes first."""
        self.followed_among = edges.outgoing.among
        """Read the accounts among `ids` that the viewer follows."""
        self.followers_among = edges.incoming.times_among
        """Read the accounts among `ids` that follow the account, with the times (Unix ms) of their follows."""
        self.followers_pass = edges.incoming.next_pass
        """Read the next `limit` followers for fan-out. The cursor of the first pass is FIRST_PASS."""
        self.followers_of_many = edges.incoming.ids_of_many
        """Return the followers of all these accounts, each once."""

    async def add(self, follow: Follow) -> bool:
        """Add a follow, and return whether it is new. An existing follow keeps its time."""
        return await self._edges.add(follow.follower_id, follow.followed_id, follow.at_ms)

    def follows_between(self, one: AccountId, other: AccountId) -> Read[list[bool]]:
        """Read whether `one` follows `other`, and whether `other` follows `one`."""
        times = combine(self._following.time_of(one, other), self._followers.time_of(one, other))
        return times.map(lambda times: [at_ms is not None for at_ms in times])

    def counts(self, account_id: AccountId) -> Read[FollowCounts]:
        """Read the numbers of followers and of followed accounts. Suspended accounts are counted."""
        counts = combine(self._followers.count(account_id), self._following.count(account_id))
        return counts.map(lambda counts: FollowCounts(*counts))

    def following_ids(self, account_id: AccountId) -> Read[list[AccountId]]:
        """Read all accounts that the account follows, in no particular order."""
        return self._following.ids(account_id, self._read_limit)

    async def recently_followed_by_each(
        self, account_ids: Collection[AccountId], limit: int
    ) -> dict[AccountId, list[AccountId]]:
        """Return the `limit` accounts that each account followed last, in one round trip per node."""
        keys = [self._following.keys(id) for id in account_ids]
        per_partition = max(1, limit // max(1, len(keys[0]))) if keys else 0
        commands = [("ZREVRANGE", key, 0, per_partition - 1) for part in keys for key in part]
        replies = iter(await self._store.execute_all(commands))
        return {
            id: [AccountId(int(member)) for _ in part for member in next(replies)][:limit]
            for id, part in zip(account_ids, keys, strict=True)
        }

    # Reads for the profile page of an account

    def viewer_graph(self, viewer_id: AccountId, account_id: AccountId) -> Read[ViewerGraph]:
        """Read the counts of the account, and the accounts that the viewer follows.

        Of very many followed accounts only some are read.
        """
        followed = self._following.first_ids(viewer_id, FOLLOWED_PER_PARTITION)

        def parse(replies: Sequence[Reply]) -> tuple[list[AccountId], bool]:
            return followed.parse(replies), max(map(len, replies)) < FOLLOWED_PER_PARTITION

        def to_graph(results: list[Any]) -> ViewerGraph:
            counts, (followed_ids, is_complete) = results
            return ViewerGraph(counts, tuple(followed_ids), is_complete)

        return combine(self.counts(account_id), Read(followed.commands, parse)).map(to_graph)

    def send_known_followers(
        self, viewer_id: AccountId, account_id: AccountId, viewer_graph: ViewerGraph, limit: int
    ) -> Awaitable[KnownFollowers]:
        """Read at most `limit` known followers, newest first, and how many accounts viewer and account both follow.

        If `viewer_graph` is complete, one round trip looks up the followed accounts on both sides of the account. It
        is sent before the result is awaited. Otherwise three round trips intersect the lists when the result is
        awaited.
        """
        if not viewer_graph.is_complete:
            return LazyAwaitable(partial(self._intersect, viewer_id, account_id, viewer_graph.counts, limit))
        ids = viewer_graph.followed_ids
        lookups = combine(self._followers.times_among(account_id, ids), self._following.among(account_id, ids))
        return self._store.send_now(lookups.map(lambda found: _newest_known(limit, *found)))

    async def _intersect(
        self, viewer_id: AccountId, account_id: AccountId, counts: FollowCounts, limit: int
    ) -> KnownFollowers:
        viewer = _CountedEdges(self._following, viewer_id, await self._following.count(viewer_id))
        followers = _CountedEdges(self._followers, account_id, counts.followers)
        following = _CountedEdges(self._following, account_id, counts.following)
        known_followers, both = await self._intersect_each(viewer, (followers, following))
        return _newest_known(limit, known_followers, both)

    async def _intersect_each(
        self, one: "_CountedEdges", others: Sequence["_CountedEdges"]
    ) -> list[dict[AccountId, int]]:
        """Return for each other list the ids that are also in `one`. The times (Unix ms) are from the other list.

        Of each pair of lists, the smaller is read and looked up in the larger. All pairs share two round trips.
        """
        smaller = [other for other in others if other.count < one.count]
        larger = [other for other in others if other.count >= one.count]
        whole: list[Read[Any]] = [other.edges.times(other.owner, self._read_limit) for other in smaller]
        if larger:
            whole.append(one.edges.ids(one.owner, self._read_limit))
        results = await self._store.read(*whole)
        own_ids = results.pop() if larger else []
        times = dict(zip(smaller, results, strict=True))
        lookups = await self._store.read(
            *(one.edges.among(one.owner, times[other]) for other in smaller),
            *(other.edges.times_among(other.owner, own_ids) for other in larger),
        )
        shared = dict(zip((*smaller, *larger), lookups, strict=True))
        return [{id: times[other][id] for id in shared[other]} if other in times else shared[other] for other in others]


@dataclass(frozen=True, slots=True)
class _CountedEdges:
    """The edge list of one owner, and its number of edges."""

    edges: EdgeList[AccountId]
    owner: AccountId
    count: int


def _newest_known(limit: int, known: Mapping[AccountId, int], both: Collection[AccountId]) -> KnownFollowers:
    """Return the newest `limit` of the known followers (id -> time of the follow), in the order of Redis."""
    newest = sorted(known, key=lambda id: (known[id], str(id)), reverse=True)
    return KnownFollowers(len(both), tuple(newest[:limit]))
