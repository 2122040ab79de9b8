"""Bounded reads for one pass of the audit, with cached account states and outbox jobs."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from accounts import keys as account_keys
from accounts.domain import DELETED
from socialsite.batches import batches
from socialsite.ids import AccountId, PostId
from socialsite.store import Command, CommandRefused, Key, Reply
from timelines.audit.context import AuditContext
from timelines.audit.discrepancy import Discrepancy
from timelines.jobs import EditPost, PurgeAccount, SyndicatePost, decode_job
from timelines.posts.post import Post
from timelines.posts.stored_values import PostState, decode_stored, get_post_command

COMMANDS_PER_ROUND = 1_000
MEMBERS_PER_READ = 1_000
MAX_JOBS_READ = 20_000
ABSENT = "absent"

ScoredMember = tuple[bytes, bytes]
"""A member of a sorted set and its score."""
Page = tuple[Key, list[bytes]]
"""The key of a sorted set, and some of its members, each followed by its score."""


def decode_post_or_none(reply: Reply) -> Post | PostState | None:
    """Return the post, or the state, of a stored value; None if the value cannot be decoded."""
    try:
        return decode_stored(reply)
    except msgspec.MsgspecError:
        return None


@dataclass(frozen=True, slots=True)
class PendingJobs:
    """Posts and purges of accounts that the worker has not finished.

    `is_complete` is False if there are more jobs than were read.
    """

    posts: frozenset[PostId]
    purges: frozenset[AccountId]
    is_complete: bool


class AuditReader:
    """Reads data for one pass of the audit. Only account states and jobs are cached."""

    def __init__(self, context: AuditContext) -> None:
        self._store = context.store
        self._outbox = context.outbox
        self._posts = context.posts
        self._lost_bodies: set[int] = set()
        self._states: dict[int, str] = {}
        self._absent_accounts: set[int] = set()
        self._jobs: PendingJobs | None = None

    async def execute_all(self, commands: Iterable[Command]) -> list[Reply]:
        """Execute commands in batches, so that an audit does not delay other requests much."""
        return [
            reply for batch in batches(commands, COMMANDS_PER_ROUND) for reply in await self._store.execute_all(batch)
        ]

    async def read_each(self, keys: Sequence[Key], *commands: Sequence[object]) -> list[tuple[Key, list[Reply]]]:
        """Execute each command on each key. A command is a sequence: its name, then the arguments after the key."""
        replies = await self.execute_all(((name, key, *args) for key in keys for name, *args in commands))
        width = len(commands)
        return [(key, replies[number * width : (number + 1) * width]) for number, key in enumerate(keys)]

    async def read_counter(self, key: Key) -> int | None:
        """Return the counter, or 0 if it is absent. Return None if it is unreadable, which another check reports."""
        try:
            (reply,) = await self._store.execute_all([("GET", key)])
            return int(reply or 0)
        except (CommandRefused, ValueError):
            return None

    async def read_states(self, account_ids: Iterable[int]) -> dict[int, str]:
        """Return the state of each account, and of accounts read before. The state is ABSENT if there is no account."""
        unread = list(set(account_ids).difference(self._states))
        replies = await self.execute_all(
            ("HMGET", account_keys.account(AccountId(i)), "handle", "state") for i in unread
        )
        for account_id, (handle, state) in zip(unread, replies, strict=True):
            is_absent = handle is None and state is None
            self._states[account_id] = ABSENT if is_absent else (state or b"").decode()
            if is_absent:
                self._absent_accounts.add(account_id)
        return self._states

    async def existing_accounts(self, account_ids: Iterable[int]) -> set[int]:
        """Return the ids of accounts that exist.

        Deleted accounts count as existing, because their purge removes the rest.
        """
        ids = set(account_ids)
        await self.read_states(ids)
        return ids - self._absent_accounts

    async def read_posts(self, post_ids: Iterable[int]) -> dict[int, Post]:
        """Return the readable posts that exist in the store or in the archive."""
        ids = [PostId(post_id) for post_id in post_ids]
        values = await self.execute_all(get_post_command(post_id) for post_id in ids)
        stored = {i: s for i, value in zip(ids, values, strict=True) if (s := decode_post_or_none(value)) is not None}
        posts = await self._posts.load_existing(stored)
        archived = (i for i, state in stored.items() if state is PostState.ARCHIVED)
        self._lost_bodies.update(post_id for post_id in archived if post_id not in posts)
        return {int(post_id): post for post_id, post in posts.items()}

    async def read_post_members(self, members: Sequence[ScoredMember]) -> dict[int, Post]:
        """Return the existing posts among the members of a sorted set."""
        return await self.read_posts(int(member) for member, _ in members if member.isdigit())

    def is_body_lost(self, post_id: int) -> bool:
        """Return whether `read_posts` found an archived post without its body, which cannot be checked."""
        return post_id in self._lost_bodies

    def checkable(self, members: Iterable[ScoredMember]) -> list[ScoredMember]:
        """Return the members except posts for which `is_body_lost` is true."""
        return [pair for pair in members if not pair[0].isdigit() or not self.is_body_lost(int(pair[0]))]

    async def read(self, commands: Sequence[Command]) -> list[Reply]:
        """Execute at most about COMMANDS_PER_ROUND commands in one round trip per node."""
        return await self._store.execute_all(commands)

    async def rounds_of_pages(
        self, keys: Sequence[Key], keys_per_read: int = COMMANDS_PER_ROUND
    ) -> AsyncIterator[list[Page]]:
        """Yield the pages of many sorted sets. One round trip reads the first pages of `keys_per_read` sets.

        Most sets have only one page. A member that moves meanwhile may be yielded twice or not at all.
        """
        for batch in batches(keys, keys_per_read):
            pages = await self.read([("ZRANGE", key, 0, MEMBERS_PER_READ - 1, "WITHSCORES") for key in batch])
            first_pages = list(zip(batch, pages, strict=True))
            yield [(key, page) for key, page in first_pages if page]
            for key, first_page in first_pages:
                page, start = first_page, 0
                while len(page) == 2 * MEMBERS_PER_READ:
                    start += MEMBERS_PER_READ
                    last = start + MEMBERS_PER_READ - 1
                    (page,) = await self.execute_all([("ZRANGE", key, start, last, "WITHSCORES")])
                    if page:
                        yield [(key, page)]

    async def pages_of_many(
        self, keys: Sequence[Key], keys_per_read: int = COMMANDS_PER_ROUND
    ) -> AsyncIterator[tuple[Key, list[ScoredMember]]]:
        """Yield the pages of `rounds_of_pages` one by one, as members with their scores."""
        async for pages in self.rounds_of_pages(keys, keys_per_read):
            for key, page in pages:
                yield key, list(zip(page[::2], page[1::2], strict=True))

    async def pending_jobs(self) -> PendingJobs:
        """Return the jobs of the outbox as they were at the first call."""
        if self._jobs is None:
            self._jobs = parse_jobs(await self._outbox.read_payloads(MAX_JOBS_READ + 1))
        return self._jobs

    async def is_unpurged(self, account_id: int) -> bool:
        """Return whether the account is deleted and no pending job purges it."""
        if (await self.read_states([account_id]))[account_id] != DELETED:
            return False
        jobs = await self.pending_jobs()
        return jobs.is_complete and account_id not in jobs.purges


def parse_jobs(payloads: Sequence[bytes]) -> PendingJobs:
    posts: set[PostId] = set()
    purges: set[AccountId] = set()
    for payload in payloads[:MAX_JOBS_READ]:
        try:
            job = decode_job(payload)
        except msgspec.DecodeError:
            continue
        if isinstance(job, PurgeAccount):
            purges.add(job.account_id)
        else:
            posts.add(job.post.id if isinstance(job, SyndicatePost | EditPost) else job.post_id)
    return PendingJobs(frozenset(posts), frozenset(purges), len(payloads) <= MAX_JOBS_READ)


Check = Callable[[AuditReader, Sequence[Key]], AsyncIterator[Discrepancy]]
"""A function that finds the discrepancies of some keys of one family, in a few round trips."""
