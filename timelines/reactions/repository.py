"""Stores likes and boosts: the sets of each post, and each account's index of the posts that it liked or boosted.

The set of the post is the source. One script changes the set and the counts of the post, and refuses if the post does
not exist. The index of the account lets a page read the reader's state with one lookup. The index is written after the
set and then compared with it, so that it is right after concurrent requests of one account. Repeating an action repairs
its state after a crash.
"""

from collections.abc import Callable, Sequence
from enum import Enum

from socialsite.ids import AccountId, PostId, ms_from_id
from socialsite.store import Key, Read, Reply, Repository, load_script
from timelines import keys
from timelines.graph.follow import FollowCursor, FollowPage
from timelines.graph.zset_page import read_account_page
from timelines.posts.counts import LEAVE_SET, add_member_command, count_script_keys
from timelines.posts.post import Post
from timelines.reactions.bookmarks import Bookmark, read_marked_posts

SWAP_SCORE = load_script("swap_score.lua", __package__)
MAX_COMPARISONS = 10
"""The maximum number of comparisons of index and set while concurrent requests change them."""

PostKey = Callable[[int], Key]


class PostGone(Exception):
    """The post does not exist."""


class ReactionKind(Enum):
    """The kinds of reactions, each with the set of the post and the index of the account."""

    LIKE = keys.likes, keys.liked_posts, int
    BOOST = keys.boosts, keys.boosted_posts, ms_from_id

    def __init__(self, members: PostKey, index: PostKey, ms: Callable[[int], int]) -> None:
        self.members = members
        self.index = index
        self.ms = ms


class Reactions(Repository):
    """The likers and boosters of posts.

    The score (`at`) of a like is Unix ms, that of a boost is the boost's post id.
    """

    async def add(self, kind: ReactionKind, post_id: PostId, account_id: AccountId, at: int) -> tuple[bool, int]:
        """Add a reaction. Return whether it is new, and its score, which the first request sets. Raises PostGone."""
        command = add_member_command(kind.members, post_id, account_id, at, if_post_exists=True)
        (answer, score) = await self._posts.write(*command)
        if answer < 0:
            raise PostGone
        return bool(answer), parse_score(score)

    async def remove(
        self, kind: ReactionKind, post_id: PostId, account_id: AccountId, only_at: int | None = None
    ) -> bool:
        """Remove a reaction if its score is `only_at` (or that is None). Return whether it was removed."""
        args = [account_id] if only_at is None else [account_id, only_at]
        command = LEAVE_SET.command(count_script_keys(post_id, kind.members), args)
        score = await self._posts.write(*command)
        return score is not None and only_at in (None, parse_score(score))

    async def find_score(self, kind: ReactionKind, post_id: PostId, account_id: AccountId) -> int | None:
        """Return the score of the account's reaction, or None if there is no reaction."""
        score = await self._posts.execute("ZSCORE", kind.members(post_id), account_id)
        return None if score is None else parse_score(score)

    async def replace_boost(self, post_id: PostId, account_id: AccountId, deleted_id: int, new_id: int) -> int | None:
        """Replace the id of a deleted boost. Return the id that is stored afterwards."""
        score = await self._posts.write(*SWAP_SCORE.command([keys.boosts(post_id)], [account_id, deleted_id, new_id]))
        return None if score is None else parse_score(score)

    async def sync_index(self, kind: ReactionKind, post_id: PostId, account_id: AccountId) -> bool:
        """Copy the reaction's state from the set of the post to the account's index.

        Return whether the reaction exists.
        """
        key = kind.index(account_id)
        score = await self.find_score(kind, post_id, account_id)
        for _ in range(MAX_COMPARISONS):
            change = ("ZREM", key, post_id) if score is None else ("ZADD", key, kind.ms(score), post_id)
            await self._timelines.write(*change)
            indexed, score = score, await self.find_score(kind, post_id, account_id)
            if indexed == score:
                break
        return score is not None

    async def boosts_to_delete(self, post_id: PostId, limit: int) -> tuple[list[Post], bool]:
        """Return the newest boosts of a deleted post that may still exist, and whether there are more."""
        key = keys.boosts_to_delete(post_id)
        commands = [("ZREVRANGE", key, 0, limit - 1, "WITHSCORES"), ("ZCARD", key)]
        flat, count = await self._posts.execute_all(commands)
        pairs = zip(flat[::2], flat[1::2], strict=True)
        boosts = [Post(PostId(parse_score(at)), AccountId(int(id)), "", boost_of=post_id) for id, at in pairs]
        return boosts, count > len(boosts)

    async def mark_boosts_deleted(self, boosts: Sequence[Post]) -> None:
        """Remove deleted boosts of one post from its set of boosts to delete."""
        if boosts:
            key = keys.boosts_to_delete(boosts[0].shown_id)
            await self._posts.execute_all([("ZREM", key, *(boost.author_id for boost in boosts))])

    async def reacted_post_ids(self, kind: ReactionKind, account_id: AccountId, limit: int) -> list[PostId]:
        """Return the ids of the posts that the account reacted to, oldest reaction first, at most `limit`."""
        return parse_post_ids(await self._timelines.execute("ZRANGE", kind.index(account_id), 0, limit - 1))

    def read_likes(
        self, account_id: AccountId, edge: Bookmark | None, limit: int, *, upward: bool
    ) -> Read[list[Bookmark]]:
        """Read posts that the account likes, with the times of the likes, as `Bookmarks.read` does."""
        return read_marked_posts(self._timelines, keys.liked_posts(account_id), edge, limit, upward=upward)

    async def remove_from_index(self, kind: ReactionKind, account_id: AccountId, post_ids: list[PostId]) -> None:
        key = kind.index(account_id)
        if post_ids:
            await self._timelines.execute("ZREM", key, *post_ids)

    def accounts(
        self, kind: ReactionKind, post_id: PostId, cursor: FollowCursor | None, limit: int
    ) -> Read[FollowPage]:
        """Read a page of the accounts that reacted, after `cursor`; the last reaction comes first."""
        return read_account_page(self._posts, [kind.members(post_id)], cursor, limit)


def parse_score(score: Reply) -> int:
    """Parse a score that is an integer below 2^53."""
    return int(float(score))


def parse_post_ids(members: list[bytes]) -> list[PostId]:
    return [PostId(int(member)) for member in members]
