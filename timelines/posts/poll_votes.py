"""Stores the votes of polls: the choices of each account, their counts, and the polls of each voter.

The votes of a poll and their counts change in one script, so that each account is counted once. The account's index of
polls is written before the vote. It may contain polls without a vote, and deletes nothing but the votes of the account.
"""

from collections.abc import Collection, Sequence
from enum import Enum

from socialsite.ids import AccountId, PostId
from socialsite.recipes.time_queue import TimeQueue
from socialsite.store import Read, Reply, Store, load_script
from timelines import keys
from timelines.posts.post import Poll

VOTE_SCRIPT = load_script("vote.lua", __package__)
WITHDRAW_VOTE_SCRIPT = load_script("withdraw_vote.lua", __package__)

Tally = dict[bytes, int]
"""The number of votes by option (its number as digits), and the number of voters by `voters`."""


class VoteResult(Enum):
    STORED = 1
    VOTED_BEFORE = 0
    NO_POLL = -1
    """The post has no poll, or the options were changed since."""
    ENDED = -2


class PollRepository:
    """The repository of `posts:{<id>}:votes`, `posts:{<id>}:tally`, `timelines:{<account>}:voted` and the due polls."""

    def __init__(self, store: Store) -> None:
        self._posts = store.component("posts")
        self._timelines = store.component("timelines")
        self.ends = TimeQueue(store, keys.poll_ends(), lambda member: PostId(int(member)))
        """The polls whose voters are not all notified, by the time at which they end."""

    async def vote(
        self, post_id: PostId, poll: Poll, account_id: AccountId, choices: Collection[int], now_ms: int
    ) -> VoteResult:
        """Store the choices (numbers of options) of the account, unless it has voted before."""
        await self._timelines.write("ZADD", keys.voted_polls(account_id), now_ms, post_id)
        touched = [keys.post(post_id), keys.poll_votes(post_id), keys.poll_tally(post_id)]
        arguments = [account_id, sum(1 << choice for choice in set(choices)), poll.round, now_ms]
        return VoteResult(await self._posts.write(*VOTE_SCRIPT.command(touched, arguments)))

    async def withdraw_votes(self, account_id: AccountId, limit: int) -> bool:
        """Remove the oldest `limit` votes of the account. Return True if votes may be left."""
        index = keys.voted_polls(account_id)
        post_ids = [PostId(int(id)) for id in await self._timelines.execute("ZRANGE", index, 0, limit - 1)]
        if not post_ids:
            return False
        await self._posts.execute_all(
            [WITHDRAW_VOTE_SCRIPT.command([keys.poll_votes(id), keys.poll_tally(id)], [account_id]) for id in post_ids]
        )
        await self._timelines.execute("ZREM", index, *post_ids)
        return True

    async def voters(self, post_id: PostId, start: int, count: int) -> list[AccountId]:
        """Return voters from the position `start` on. The positions of an ended poll do not change."""
        reply = await self._posts.execute("ZRANGE", keys.poll_votes(post_id), start, start + count - 1)
        return [AccountId(int(member)) for member in reply]


def read_tallies(post_ids: Sequence[PostId]) -> Read[dict[PostId, Tally]]:
    """Read the counts of each poll. A poll without votes has an empty tally."""

    def parse(replies: Sequence[Reply]) -> dict[PostId, Tally]:
        return {
            id: dict(zip(flat[::2], map(int, flat[1::2]), strict=True))
            for id, flat in zip(post_ids, replies, strict=True)
        }

    return Read([("HGETALL", keys.poll_tally(id)) for id in post_ids], parse)


def read_choices(account_id: AccountId, post_ids: Sequence[PostId]) -> Read[dict[PostId, int]]:
    """Read the choices of the account in each poll, one bit for each option. Polls without a vote are left out."""
    return Read(
        [("ZSCORE", keys.poll_votes(id), account_id) for id in post_ids],
        lambda replies: {
            id: int(float(score)) for id, score in zip(post_ids, replies, strict=True) if score is not None
        },
    )
