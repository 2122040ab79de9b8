"""Likes, boosts and bookmarks: the post's own sets, and each account's index of what it reacted to.

The post's side is the truth: a set and the counts of the post change together in one script, which refuses
where the post does not stand. The account's index (`liked`, `boosted`) only lets a page know its reader's
state by one look; it is written after the set and then held against it, so that whatever order two requests
of one account come in, the last one to write it has seen the set as it is. Repeating mends what a crash left.
"""

from collections.abc import Callable, Sequence
from enum import Enum

from socialsite.ids import AccountId, PostId, ms_from_id
from socialsite.store import Key, Reply, Store, load_script
from timelines import keys
from timelines.graph.follow import FollowCursor, FollowPage
from timelines.graph.zset_page import read_account_page
from timelines.posts.counts import LEAVE_SET, add_member_command, count_script_keys
from timelines.posts.post import Post

SWAP_SCORE = load_script("swap_score.lua", __package__)
MOST_LOOKS = 10
"""Looks at a set while requests of one account for one post come and go; more than ever meet."""

PostKey = Callable[[int], Key]


class PostGone(Exception):
    """The post does not stand."""


class ReactionKind(Enum):
    """A set of a post and the account's index beside it."""

    LIKE = keys.likes, keys.liked_posts, int
    BOOST = keys.boosts, keys.boosted_posts, ms_from_id

    def __init__(self, members: PostKey, index: PostKey, ms: Callable[[int], int]) -> None:
        self.members = members
        self.index = index
        self.ms = ms


class Reactions:
    """Who likes and who boosts a post. `at`: ms for a like, the boost's id for a boost."""

    def __init__(self, store: Store) -> None:
        self._posts = store.component("posts")
        self._timelines = store.component("timelines")

    async def add(self, kind: ReactionKind, post_id: PostId, account_id: AccountId, at: int) -> tuple[bool, int]:
        """Whether this is new, and the agreed `at`: that of whoever came first. Raises Gone."""
        command = add_member_command(kind.members, post_id, account_id, at, if_post_exists=True)
        ((answer, held),) = await self._posts.write(kind.members(post_id), command)
        if answer < 0:
            raise PostGone
        return bool(answer), parse_score(held)

    async def remove(
        self, kind: ReactionKind, post_id: PostId, account_id: AccountId, only_at: int | None = None
    ) -> bool:
        """False where the account was not there. `only_at`: leave another `at` alone."""
        args = [account_id] if only_at is None else [account_id, only_at]
        command = LEAVE_SET.command(count_script_keys(post_id, kind.members), args)
        (held,) = await self._posts.write(kind.members(post_id), command)
        return held is not None and only_at in (None, parse_score(held))

    async def find_score(self, kind: ReactionKind, post_id: PostId, account_id: AccountId) -> int | None:
        """The `at` of the account's reaction; None where there is none."""
        key = kind.members(post_id)
        found = await self._posts[key].execute("ZSCORE", key, account_id)
        return None if found is None else parse_score(found)

    async def replace_boost(self, post_id: PostId, account_id: AccountId, dead: int, fresh: int) -> int | None:
        """Put another id in the place of a dead boost's; the id that stands there now."""
        key = keys.boosts(post_id)
        (held,) = await self._posts.write(key, SWAP_SCORE.command([key], [account_id, dead, fresh]))
        return None if held is None else parse_score(held)

    async def sync_index(self, kind: ReactionKind, post_id: PostId, account_id: AccountId) -> bool:
        """Make the account's index say what the post's set says; whether the reaction stands."""
        key = kind.index(account_id)
        held = await self.find_score(kind, post_id, account_id)
        for _ in range(MOST_LOOKS):
            change = ("ZREM", key, post_id) if held is None else ("ZADD", key, kind.ms(held), post_id)
            await self._timelines.write(key, change)
            noted, held = held, await self.find_score(kind, post_id, account_id)
            if noted == held:
                break
        return held is not None

    async def boosts_to_delete(self, post_id: PostId, limit: int) -> tuple[list[Post], bool]:
        """The newest boosts of a deleted post that may stand yet, and whether there are more."""
        key = keys.boosts_to_delete(post_id)
        commands = [("ZREVRANGE", key, 0, limit - 1, "WITHSCORES"), ("ZCARD", key)]
        found, count = await self._posts.gather(commands)
        pairs = zip(found[::2], found[1::2], strict=True)
        boosts = [Post(PostId(parse_score(at)), AccountId(int(id)), "", boost_of=post_id) for id, at in pairs]
        return boosts, count > len(boosts)

    async def mark_boosts_deleted(self, boosts: Sequence[Post]) -> None:
        """They are gone; all of one post."""
        if boosts:
            key = keys.boosts_to_delete(boosts[0].shown_id)
            await self._posts.gather([("ZREM", key, *(boost.author_id for boost in boosts))])

    async def reacted_post_ids(self, kind: ReactionKind, account_id: AccountId, limit: int) -> list[PostId]:
        """What the account reacted to first, for a sweep."""
        key = kind.index(account_id)
        return parse_post_ids(await self._timelines[key].execute("ZRANGE", key, 0, limit - 1))

    async def remove_from_index(self, kind: ReactionKind, account_id: AccountId, post_ids: list[PostId]) -> None:
        key = kind.index(account_id)
        if post_ids:
            await self._timelines[key].execute("ZREM", key, *post_ids)

    async def accounts(
        self, kind: ReactionKind, post_id: PostId, cursor: FollowCursor | None, limit: int
    ) -> FollowPage:
        """Who reacted so, the last first."""
        return await read_account_page(self._posts, [kind.members(post_id)], cursor, limit)


def parse_score(score: Reply) -> int:
    """A score that is a whole number below 2^53, however the server writes it."""
    return int(float(score))


def parse_post_ids(members: list[bytes]) -> list[PostId]:
    return [PostId(int(member)) for member in members]
