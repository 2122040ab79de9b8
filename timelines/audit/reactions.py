"""Checks likes and boosts: the sets of a post, its counts, and the index of each account.

The set of the post is the source. If only the index of an account has a like, the repair adds the like to the set,
because the set was more probably lost than the like half removed. A boost itself contains the id of its original, so a
set of boosts is repaired from the boosts that exist.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence
from functools import partial

from socialsite.ids import AccountId, PostId
from socialsite.store import Key
from timelines import keys
from timelines.audit.context import AuditContext
from timelines.audit.discrepancy import Discrepancy, detail_of
from timelines.audit.reader import ABSENT, AuditReader, Check
from timelines.posts.counts import LEAVE_SET, count_script_keys
from timelines.reactions.repository import PostGone, ReactionKind

NOBODY = AccountId(0)
"""An account that is in no set. The command that removes it writes the counts again."""
COUNTED_SETS = (keys.replies, keys.boosts, keys.likes)
"""The sets that are counted, in the order of the counts."""


class ReactionChecks:
    def __init__(self, context: AuditContext) -> None:
        self._context = context
        self._reactions = context.reactions
        self.likes: Check = partial(self._sets, ReactionKind.LIKE, "like")
        self.boosts: Check = partial(self._sets, ReactionKind.BOOST, "boost")
        self.liked: Check = partial(self._indexes, ReactionKind.LIKE, "like")
        self.boosted: Check = partial(self._indexes, ReactionKind.BOOST, "boost")

    async def counts(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that the counts that pages show are the sizes of the post's three sets."""
        ids = list(dict.fromkeys(PostId(int(key.tag)) for key in checked))
        stored = await reader.execute_all(("GET", keys.post_counts(post_id)) for post_id in ids)
        sizes = await reader.execute_all(("ZCARD", key_of(post_id)) for post_id in ids for key_of in COUNTED_SETS)
        for number, (post_id, counts) in enumerate(zip(ids, stored, strict=True)):
            right = " ".join(map(str, sizes[3 * number : 3 * number + 3])).encode()
            if (counts or b"0 0 0") != right:
                detail = f"{(counts or b'').decode(errors='replace')} != {right.decode()}"
                yield Discrepancy("counts_wrong", keys.post_counts(post_id), detail, partial(self._recount, post_id))

    async def boosts_to_delete(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that a job exists if boosts of a deleted post are left.

        If the job is missing, the process that should have added it has crashed.
        """
        jobs = await reader.pending_jobs()
        post_ids = {key: PostId(int(key.tag)) for key in checked}
        for key, post_id in post_ids.items():
            if jobs.is_complete and post_id not in jobs.posts:
                yield Discrepancy("boosts_left", key, repair=self._context.delete_boosts(post_id), is_damage=False)

    async def _sets(
        self, kind: ReactionKind, name: str, reader: AuditReader, checked: Sequence[Key]
    ) -> AsyncIterator[Discrepancy]:
        """Check that each member is an account, and that the index of this account has the post."""
        async for found in self.counts(reader, checked):
            yield found
        posts = await reader.read_posts(int(key.tag) for key in checked)
        async for key, members in reader.pages_of_many(checked):
            post_id = PostId(int(key.tag))
            if post_id not in posts:
                if not reader.is_body_lost(post_id):
                    yield Discrepancy(f"{name}s_of_nothing", key, repair=partial(self._delete, key))
                continue
            ids = [AccountId(int(member)) for member, _ in members if member.isdigit()]
            states = await reader.read_states(ids)
            scores = await reader.execute_all(("ZSCORE", kind.index(id), post_id) for id in ids)
            for account_id, score in zip(ids, scores, strict=True):
                if states[account_id] == ABSENT:
                    remove = partial(self._reactions.remove, kind, post_id, account_id)
                    yield Discrepancy(f"{name}_of_nobody", key, str(account_id), remove)
                elif score is None:
                    sync = partial(self._reactions.sync_index, kind, post_id, account_id)
                    yield Discrepancy(f"{name}_unindexed", key, str(account_id), sync)

    async def _indexes(
        self, kind: ReactionKind, name: str, reader: AuditReader, checked: Sequence[Key]
    ) -> AsyncIterator[Discrepancy]:
        """Check that each entry is a post whose set has the account. An entry of a deleted post is a leftover."""
        async for key, members in reader.pages_of_many(checked):
            account_id = AccountId(int(key.tag))
            times = {int(member): score for member, score in members if member.isdigit()}
            posts = await reader.read_posts(times)
            scores = await reader.execute_all(("ZSCORE", kind.members(post_id), account_id) for post_id in times)
            for post_id, score in zip(times, scores, strict=True):
                if score is None and post_id in posts:
                    repair = partial(self._complete, kind, PostId(post_id), account_id, times[post_id])
                    yield Discrepancy(f"{name}_one_sided", key, str(post_id), repair)
                elif post_id not in posts and not reader.is_body_lost(post_id):
                    remove = self._context.remove(key, post_id)
                    yield Discrepancy(f"{name}_gone", key, str(post_id), remove, is_damage=False)
            for member, _ in members:
                if not member.isdigit():
                    yield Discrepancy("reaction_garbage", key, detail_of(member), self._context.remove(key, member))

    async def _complete(self, kind: ReactionKind, post_id: PostId, account_id: AccountId, score: bytes) -> None:
        if kind is ReactionKind.LIKE:
            with contextlib.suppress(PostGone):
                await self._reactions.add(kind, post_id, account_id, int(float(score)))
        await self._reactions.sync_index(kind, post_id, account_id)

    async def _delete(self, key: Key) -> None:
        await self._context.store.execute_all([("DEL", key)])
        await self._recount(PostId(int(key.tag)))

    async def _recount(self, post_id: PostId) -> None:
        await self._context.store.execute_all([LEAVE_SET.command(count_script_keys(post_id, keys.likes), [NOBODY])])
