"""One look of the audit: bounded reads, and what it has read of accounts and of the outbox meanwhile."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from accounts import keys as account_keys
from accounts.domain import DELETED
from socialsite.ids import AccountId, PostId
from socialsite.recipes.job_queue import JobQueue
from socialsite.store import Command, CommandRefused, Key, Reply, Store
from timelines.jobs import PurgeAccount, SyndicatePost, decode_job
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.posts.stored_values import PostState, decode_stored

COMMANDS_PER_ROUND = 500
MEMBERS_PER_READ = 1_000
JOBS_READ = 20_000
ABSENT = "absent"

Scored = tuple[bytes, bytes]
"""A member of a sorted set and its score."""


def read(reply: Reply) -> Post | PostState | None:
    """A post's value; None for one that cannot be read."""
    try:
        return decode_stored(reply)
    except msgspec.MsgspecError:
        return None


@dataclass(frozen=True, slots=True)
class Owed:
    """Posts and sweeps the worker has not come to. Not `is_whole`: more is owed than was read."""

    posts: frozenset[PostId]
    sweeps: frozenset[AccountId]
    is_whole: bool


class Looking:
    """Account states and jobs are remembered for the length of one look, nothing else is."""

    def __init__(self, store: Store, outbox: JobQueue, posts: PostRepository) -> None:
        self._store = store
        self._outbox = outbox
        self._posts = posts
        self._bodiless: set[int] = set()
        self._states: dict[int, str] = {}
        self._owed: Owed | None = None

    async def gather(self, commands: Iterable[Command]) -> list[Reply]:
        """A bounded number in one round trip a node, so that nobody's time-out passes behind an audit."""
        asked, replies = list(commands), list[Reply]()
        for start in range(0, len(asked), COMMANDS_PER_ROUND):
            replies += await self._store.gather(asked[start : start + COMMANDS_PER_ROUND])
        return replies

    async def number(self, key: Key) -> int | None:
        """A counter, 0 where there is none; None for one that cannot be read, which is its own check's."""
        try:
            (found,) = await self._store.gather([("GET", key)])
            return int(found or 0)
        except (CommandRefused, ValueError):
            return None

    async def states(self, account_ids: Iterable[int]) -> dict[int, str]:
        """The state of each account; ABSENT where there is none."""
        wanted = [i for i in dict.fromkeys(account_ids) if i not in self._states]
        replies = await self.gather(("HMGET", account_keys.account(AccountId(i)), "handle", "state") for i in wanted)
        for account_id, (handle, state) in zip(wanted, replies, strict=True):
            self._states[account_id] = ABSENT if handle is None and state is None else (state or b"").decode()
        return self._states

    async def posts(self, post_ids: Iterable[int]) -> dict[int, Post]:
        """Those of the posts that stand, here or in the archive; unreadable ones are left out."""
        asked = [PostId(post_id) for post_id in post_ids]
        values = await self.gather(self._posts.get_post_command(post_id) for post_id in asked)
        found = {i: state for i, v in zip(asked, values, strict=True) if (state := read(v)) is not None}
        posts = await self._posts.load_existing(found)
        archived = (i for i, state in found.items() if state is PostState.ARCHIVED)
        self._bodiless.update(post_id for post_id in archived if post_id not in posts)
        return {int(post_id): post for post_id, post in posts.items()}

    def known(self, members: Iterable[Scored]) -> list[Scored]:
        """Without archived posts whose bodies are lost: they stand, but nothing can be said of them."""
        return [pair for pair in members if not pair[0].isdigit() or int(pair[0]) not in self._bodiless]

    async def owed(self) -> Owed:
        """Read once a look, before what it is held against."""
        if self._owed is None:
            self._owed = owed_of(await self._outbox.read_payloads(JOBS_READ + 1))
        return self._owed

    async def is_unswept(self, account_id: int) -> bool:
        """Deleted, and no job is left that would take away what it had."""
        if (await self.states([account_id]))[account_id] != DELETED:
            return False
        owed = await self.owed()
        return owed.is_whole and account_id not in owed.sweeps


def owed_of(payloads: Sequence[bytes]) -> Owed:
    posts: set[PostId] = set()
    sweeps: set[AccountId] = set()
    for payload in payloads[:JOBS_READ]:
        try:
            job = decode_job(payload)
        except msgspec.DecodeError:
            continue
        if isinstance(job, PurgeAccount):
            sweeps.add(job.account_id)
        else:
            posts.add(job.post.id if isinstance(job, SyndicatePost) else job.post_id)
    return Owed(frozenset(posts), frozenset(sweeps), len(payloads) <= JOBS_READ)
