"""Who follows whom: pair edges follower -> followed in FOLLOW_PARTITIONS partitions. Sources, never caches.

Knows edges and ids only; whether an account exists, is suspended or may be followed is the service's matter.
"""

from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import cast

from socialsite.ids import AccountId
from socialsite.store.commands import Reply
from socialsite.store.read import LazyAwaitable, Read, combine
from socialsite.store.store import Store
from timelines import keys
from timelines.graph.edge_intersections import Sized, common_with_each
from timelines.graph.edge_list import EdgeList, Neighbour
from timelines.graph.edges import PairEdges
from timelines.graph.follow import (
    Follow,
    FollowCounts,
    FollowCursor,
    FollowPage,
    KnownFollowers,
    PassCursor,
    PassPage,
    ViewerGraph,
)

CAP_TOLERANCE = 1_000  # how far concurrent follows may pass FOLLOWING_CAP before a read leaves the rest out

FIRST = 24  # accounts a partition that a viewer follows, read with the first question: of most, all of them


class Follows:
    """`following_cap` bounds what a read of everything an account follows takes; the service holds it."""

    def __init__(self, store: Store, *, partitions: int, following_cap: int) -> None:
        self._store = store
        self._edges = PairEdges(
            store.partitioned_component("follows", partitions),
            outgoing=keys.following,
            incoming=keys.followers,
        )
        self._following = self._edges.outgoing
        self._followers = self._edges.incoming
        self._most = following_cap + CAP_TOLERANCE

    async def add(self, follow: Follow) -> bool:
        """False where it stood already; it keeps its time."""
        return await self._edges.add(follow.follower_id, follow.followed_id, follow.at_ms)

    async def remove(self, follower_id: AccountId, followed_id: AccountId) -> bool:
        return await self._edges.remove(follower_id, followed_id)

    async def add_many(self, follows: Iterable[Follow]) -> int:
        """How many were new; imports only: no cap is held and no home forgotten here."""
        return await self._edges.add_many((f.follower_id, f.followed_id, f.at_ms) for f in follows)

    async def remove_all(self, account_id: AccountId, limit: int) -> int:
        """One bounded round of a deleted account's edges, both sides; repeat until it says 0."""
        return await self._edges.remove_all(account_id, limit)

    async def is_following(self, follower_id: AccountId, followed_id: AccountId) -> bool:
        return await self._edges.has(follower_id, followed_id)

    async def counts(self, account_id: AccountId) -> FollowCounts:
        counts: FollowCounts
        (counts,) = await self._store.read(self.read_counts(account_id))
        return counts

    def read_counts(self, account_id: AccountId, *, may_lag: bool = False) -> Read[FollowCounts]:
        """As `counts`, for a round trip that asks other things too."""
        sides = self._followers, self._following
        asked = combine(*(side.count_question(account_id, may_lag=may_lag) for side in sides))
        return Read(asked.commands, lambda replies: FollowCounts(*asked.parse(replies)), may_lag=may_lag)

    async def following_count(self, account_id: AccountId) -> int:
        return await self._following.count(account_id)

    async def followers(self, account_id: AccountId, cursor: FollowCursor | None, limit: int) -> FollowPage:
        """Newest followers first, behind `cursor`."""
        return await read_edge_page(self._followers, account_id, cursor, limit)

    async def following(self, account_id: AccountId, cursor: FollowCursor | None, limit: int) -> FollowPage:
        """The accounts followed last first, behind `cursor`."""
        return await read_edge_page(self._following, account_id, cursor, limit)

    async def followers_pass(self, account_id: AccountId, cursor: PassCursor, limit: int) -> PassPage[AccountId]:
        """The next `limit` followers for syndication; begin with FIRST_PASS, end where `next` is None."""
        return PassPage(*await self._followers.names_pass(account_id, cursor, limit))

    async def followed_among(self, viewer_id: AccountId, ids: Collection[AccountId]) -> set[AccountId]:
        """Those of `ids` that the viewer follows."""
        return set(map(AccountId, await self._following.among(viewer_id, ids)))

    def read_followed_among(self, viewer_id: AccountId, ids: Collection[AccountId]) -> Read[set[AccountId]]:
        """As `followed_among`, for a round trip that asks other things too."""
        return cast("Read[set[AccountId]]", self._following.held_question(viewer_id, ids))

    def read_follows_between(self, one: AccountId, other: AccountId) -> Read[tuple[bool, bool]]:
        """Whether one follows the other, and the other way round, for a round trip that asks more."""
        commands = [side.member_command(one, other) for side in (self._following, self._followers)]
        return Read(commands, lambda replies: (replies[0] is not None, replies[1] is not None))

    async def followers_among(self, account_id: AccountId, ids: Collection[AccountId]) -> set[AccountId]:
        """Those of `ids` that follow the account: the readers of one post, as the live layer asks."""
        return set(map(AccountId, await self._followers.among(account_id, ids)))

    def read_followers_among(self, account_id: AccountId, ids: Collection[AccountId]) -> Read[dict[int, int]]:
        """As `followers_among`, and since when, for a round trip that asks other things too."""
        return self._followers.among_question(account_id, ids)

    async def following_ids(self, account_id: AccountId) -> list[AccountId]:
        """Everybody the account follows, in no order."""
        return list(map(AccountId, await self._following.ids(account_id, self._most)))

    def read_viewer_graph(self, viewer_id: AccountId, account_id: AccountId) -> Read[ViewerGraph]:
        """Counts of the account, and whom the viewer follows: FIRST a partition, which for most is all."""
        first = self._following.first_question(viewer_id, FIRST)

        def understand(replies: Sequence[Reply]) -> tuple[tuple[AccountId, ...], bool]:
            followed = cast("list[AccountId]", first.parse(replies))
            return tuple(followed), max(map(len, replies)) < FIRST

        asked = combine(self.read_counts(account_id), Read(first.commands, understand))

        def met(replies: Sequence[Reply]) -> ViewerGraph:
            counts, (followed, is_all) = asked.parse(replies)
            return ViewerGraph(counts, followed, is_all)

        return Read(asked.commands, met)

    def send_known_followers(
        self, viewer_id: AccountId, account_id: AccountId, met: ViewerGraph, limit: int
    ) -> Awaitable[KnownFollowers]:
        """What the viewer shares with an account, with at most `limit` known followers, the newest.

        `met` is the answer of `read_viewer_graph`. Where it names all whom the viewer follows, one round trip asks
        which of them are on the account's sides, now; elsewhere three compare the sides (`common_with_each`).
        """
        if not met.is_complete:
            return LazyAwaitable(partial(self._compared, viewer_id, account_id, met, limit))
        groups = self._followers.grouped(account_id, met.followed_ids)
        asked = combine(
            self._followers.among_groups_question(account_id, groups),
            self._following.held_groups_question(account_id, groups),
        )
        return self._store.send_now(Read(asked.commands, lambda replies: acquainted(limit, *asked.parse(replies))))

    async def _compared(
        self, viewer_id: AccountId, account_id: AccountId, met: ViewerGraph, limit: int
    ) -> KnownFollowers:
        viewer = Sized(self._following, viewer_id, await self._following.count(viewer_id))
        followers = Sized(self._followers, account_id, met.counts.followers)
        following = Sized(self._following, account_id, met.counts.following)
        return acquainted(limit, *await common_with_each(viewer, (followers, following), self._most))

    async def recently_followed_by_each(
        self, account_ids: Collection[AccountId], most: int
    ) -> dict[AccountId, list[AccountId]]:
        """Whom each account follows, at most `most` of them, the last ones; one round trip a node."""
        keys = [self._following.keys(id) for id in account_ids]
        each = max(1, most // max(1, len(keys[0]))) if keys else 0
        replies = iter(await self._following.gather([("ZREVRANGE", key, 0, each - 1) for part in keys for key in part]))
        return {
            id: [AccountId(int(member)) for _ in part for member in next(replies)][:most]
            for id, part in zip(account_ids, keys, strict=True)
        }


def acquainted(limit: int, known: Mapping[int, int], shared: Collection[int]) -> KnownFollowers:
    """Of followers that the viewer knows (id: since when) the newest; and how many both follow."""
    newest = sorted(known, key=lambda id: (known[id], str(id)), reverse=True)  # as `order` has it
    return KnownFollowers(len(shared), tuple(map(AccountId, newest[:limit])))


async def read_edge_page(side: EdgeList, id: int, cursor: FollowCursor | None, limit: int) -> FollowPage:
    """A page of accounts of a side, newest edge first; one more is read, to know whether there is a next."""
    before = Neighbour(cursor.at_ms, cursor.account_id) if cursor else None
    found = await side.newest(id, before, limit + 1)
    taken = found[:limit]
    last = FollowCursor(taken[-1].at_ms, AccountId(taken[-1].id)) if len(found) > limit else None
    return FollowPage(tuple(AccountId(neighbour.id) for neighbour in taken), last)
