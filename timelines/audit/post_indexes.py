"""Checks sorted sets of post ids: author timelines, replies, hashtag timelines and the public timeline.

Each entry must be a post that belongs in the set, with its id as the score. Each post must be in all its sets, unless
newer posts pushed it out of a capped set.
"""

import heapq
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from accounts.domain import DELETED
from socialsite.ids import AccountId, PostId
from socialsite.store import Key
from timelines import keys
from timelines.audit.context import AuditContext
from timelines.audit.discrepancy import Discrepancy, Repair, detail_of
from timelines.audit.reactions import ReactionChecks
from timelines.audit.reader import ABSENT, AuditReader, decode_post_or_none
from timelines.author_timelines.hashtag_timelines import hashtag_key
from timelines.keys import HASHTAG_CAP
from timelines.posts.post import Post
from timelines.posts.stored_values import PostState
from timelines.reactions.repository import PostGone, ReactionKind

KEYS_PER_READ = 20  # sets with up to 1,000 posts each


@dataclass(frozen=True, slots=True)
class PostIndex:
    """The rules by which the entries of one kind of set are checked."""

    name: str
    is_member: Callable[[Key, Post], bool]
    foreign: str
    """The kind of discrepancy if the post does not belong in the set. If there is no post, the kind is "of_nothing"."""
    place: Callable[[Key, Post], Key] = lambda key, _: key
    cap: int | None = None
    scores: Callable[[Post], tuple[int, ...]] = lambda post: (post.id,)


class ExpectedEntry(NamedTuple):
    """`member` must be in the set `index_key`; `discrepancy` is reported if it is absent."""

    post: Post
    index_key: Key
    member: int
    discrepancy: Discrepancy


class PostIndexChecks:
    def __init__(self, context: AuditContext) -> None:
        self._context = context
        self._reactions = ReactionChecks(context)
        timeline_keys = context.profiles.keys
        self._profiles = PostIndex(
            "profile", lambda key, post: post.author_id == keys.author_timeline_owner(key), "of_another",
            place=lambda _, post: timeline_keys.of_post(post.author_id, post.id), cap=context.config.profile_cap,
        )  # fmt: skip
        self._replies = PostIndex("reply", lambda key, post: str(post.in_reply_to) == key.tag, "of_nothing")
        self._quotes = PostIndex(
            "quote", lambda key, post: str(post.extra.quote_of) == key.tag, "of_nothing",
            scores=lambda post: (post.id, -post.id),  # a revoked quote has a negative score
        )  # fmt: skip
        self._tags = PostIndex("tag", lambda key, post: key in map(hashtag_key, post.indexed_hashtags), "of_nothing")
        self._public = PostIndex(
            "public", lambda _, post: post.is_discoverable, "of_unlisted", cap=context.config.public_cap
        )
        self._newest: list[PostId] = []  # a heap of the newest `public_cap` posts that the audit has read

    async def profiles(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        owners = {key: keys.author_timeline_owner(key) for key in checked}
        states = await reader.read_states(owners.values())
        for key in checked:
            if states[owners[key]] == ABSENT:
                yield Discrepancy("profile_without_account", key, repair=self._context.purge(owners[key]))
        existing = [key for key in checked if states[owners[key]] not in (ABSENT, DELETED)]
        async for found in self._check(reader, existing, self._profiles):
            yield found

    async def replies(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        async for found in self._reactions.counts(reader, checked):
            yield found
        async for found in self._check(reader, checked, self._replies):
            yield found

    def quotes(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        return self._check(reader, checked, self._quotes)

    def tags(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        return self._check(reader, checked, self._tags)

    async def public(self, reader: AuditReader, _: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        key, cap = keys.public_timeline(), self._context.config.public_cap
        async for found in self._check(reader, [key], self._public):
            yield found
        ids = {int(member) async for _, page in reader.pages_of_many([key]) for member, _ in page if member.isdigit()}
        oldest = [b"%d" % min(ids)] if ids else []
        absent = [post_id for post_id in self._newest if post_id not in ids]
        missing = [post_id for post_id in absent if not was_pushed_out(post_id, len(ids), oldest, cap)]
        async for found in self._missing_in_public(reader, missing):
            yield found

    def add_met(self, post_ids: Iterable[PostId]) -> None:
        """Record posts that the audit has read. The newest of them must be in the public timeline."""
        for post_id in post_ids:
            if len(self._newest) < self._context.config.public_cap:
                heapq.heappush(self._newest, post_id)
            else:
                heapq.heappushpop(self._newest, post_id)

    async def _check(self, reader: AuditReader, checked: Sequence[Key], index: PostIndex) -> AsyncIterator[Discrepancy]:
        sizes: dict[Key, int] = {}
        async for key, members in reader.pages_of_many(checked, KEYS_PER_READ):
            sizes[key] = sizes.get(key, 0) + len(members)
            posts = await reader.read_post_members(members)
            for member, score in reader.checkable(members):
                post = posts.get(int(member)) if member.isdigit() else None
                if post is None or not index.is_member(key, post):
                    kind = f"{index.name}_of_nothing" if post is None else f"{index.name}_{index.foreign}"
                    repair = self._changing(index, key, self._context.remove(key, member))
                elif int(float(score)) not in index.scores(post) or index.place(key, post) != key:
                    kind = f"{index.name}_misplaced"
                    repair = self._changing(index, key, partial(self._move, key, index.place(key, post), post.id))
                else:
                    continue
                yield Discrepancy(kind, key, detail_of(member), repair)
        for key, size in sizes.items():
            if index.cap is not None and size > index.cap:
                trim = self._context.run(("ZREMRANGEBYRANK", key, 0, -index.cap - 1))
                yield Discrepancy(f"{index.name}_over_cap", key, repair=trim)

    def _changing(self, index: PostIndex, key: Key, repair: Repair) -> Repair:
        if index is not self._profiles:
            return repair
        return self._context.changing_profile(AccountId(keys.author_timeline_owner(key)), repair)

    async def _move(self, key: Key, right: Key, post_id: PostId) -> None:
        """Add the entry to the right set, then remove it from the wrong set, so that a crash loses nothing."""
        await self._context.store.execute_all([("ZADD", right, post_id, post_id)])
        if right != key:
            await self._context.store.execute_all([("ZREM", key, post_id)])

    async def _missing_in_public(self, reader: AuditReader, ids: Sequence[PostId]) -> AsyncIterator[Discrepancy]:
        if not ids:
            return
        jobs, posts = await reader.pending_jobs(), await reader.read_posts(ids)
        listed = [posts[i] for i in ids if i in posts and posts[i].is_discoverable and i not in jobs.posts]
        states = await reader.read_states(post.author_id for post in listed)
        timeline_keys = self._context.profiles.keys
        scores = await reader.execute_all(
            ("ZSCORE", timeline_keys.of_post(post.author_id, post.id), post.id) for post in listed
        )
        missing = [
            post.id
            for post, score in zip(listed, scores, strict=True)
            if score and states[post.author_id] not in (ABSENT, DELETED)
        ]
        if missing:
            repair = partial(self._context.public.add_many, missing)
            yield Discrepancy("public_incomplete", keys.public_timeline(), repair=repair)

    async def find_unindexed(self, reader: AuditReader, posts: Mapping[Key, Post]) -> list[Discrepancy]:
        """Find the posts that are absent from one of their sets.

        These are the author timeline, the replies of the parent, the boosts of the original, the quotes of the quoted
        post, and the hashtag timelines.
        """
        context, cap = self._context, self._context.config.profile_cap
        profiles, replies, boosts, quotes, tags = (list[ExpectedEntry]() for _ in range(5))
        for key, post in posts.items():
            add = context.changing_profile(post.author_id, partial(context.profiles.add, post.author_id, post.id))
            timeline = context.profiles.keys.of_post(post.author_id, post.id)
            profiles.append(ExpectedEntry(post, timeline, post.id, Discrepancy("post_unprofiled", key, repair=add)))
            if (parent := post.in_reply_to) is not None:
                unlinked = Discrepancy(
                    "reply_unlinked", key, str(parent), partial(context.posts.add_reply, parent, post.id)
                )
                replies.append(ExpectedEntry(post, keys.replies(parent), post.id, unlinked))
            if (original := post.boost_of) is not None:
                unlisted = Discrepancy("boost_unlisted", key, str(original), partial(self._list_boost, post, original))
                boosts.append(ExpectedEntry(post, keys.boosts(original), post.author_id, unlisted))
            if (quoted := post.extra.quote_of) is not None:
                add_quote = partial(context.quotes.add, quoted, post.id)
                unlisted = Discrepancy("quote_unlisted", key, str(quoted), add_quote)
                quotes.append(ExpectedEntry(post, keys.quotes(quoted), post.id, unlisted))
            for tag in map(hashtag_key, post.indexed_hashtags):
                untagged = Discrepancy("tag_incomplete", key, str(tag), partial(context.tags.add, [post]))
                tags.append(ExpectedEntry(post, tag, post.id, untagged))
        parents = await reader.execute_all(("GET", keys.post(entry.post.in_reply_to or 0)) for entry in replies)
        replies = [entry for entry, value in zip(replies, parents, strict=True) if _is_post(value)]
        originals = await reader.read_posts(entry.post.boost_of or 0 for entry in boosts)
        boosts = [entry for entry in boosts if entry.post.boost_of in originals]
        quoted_posts = await reader.read_posts(entry.post.extra.quote_of or 0 for entry in quotes)
        quotes = [entry for entry in quotes if entry.post.extra.quote_of in quoted_posts]
        return [
            *await self._find_absent(reader, profiles, cap),
            *await self._find_absent(reader, replies),
            *await self._find_absent(reader, boosts),
            *await self._find_absent(reader, quotes),
            *await self._find_absent(reader, tags, HASHTAG_CAP),
        ]

    async def _find_absent(
        self, reader: AuditReader, entries: Sequence[ExpectedEntry], cap: int | None = None
    ) -> list[Discrepancy]:
        """Find the absent entries, except entries that newer posts pushed out, or that a pending job will add."""
        scores = await reader.execute_all(("ZSCORE", entry.index_key, entry.member) for entry in entries)
        absent = [entry for entry, score in zip(entries, scores, strict=True) if score is None]
        if absent and cap is not None:
            sizes = await reader.execute_all(("ZCARD", entry.index_key) for entry in absent)
            oldest = await reader.execute_all(("ZRANGE", entry.index_key, 0, 0) for entry in absent)
            absent = [
                entry
                for entry, size, lowest in zip(absent, sizes, oldest, strict=True)
                if not was_pushed_out(entry.post.id, size, lowest, cap)
            ]
        if not absent:
            return []
        jobs = await reader.pending_jobs()
        return [entry.discrepancy for entry in absent if entry.post.id not in jobs.posts]

    async def _list_boost(self, boost: Post, original: PostId) -> None:
        try:
            await self._context.reactions.add(ReactionKind.BOOST, original, boost.author_id, boost.id)
        except PostGone:
            return
        await self._context.reactions.sync_index(ReactionKind.BOOST, original, boost.author_id)


def was_pushed_out(post_id: int, size: int, oldest: Sequence[bytes], cap: int) -> bool:
    """Return whether newer posts pushed a post out of a capped set of `size` entries.

    Deletions make room that older posts do not fill. So a set with at least half its cap is treated as full.
    """
    return bool(oldest) and 2 * size >= cap and post_id < int(oldest[0])


def _is_post(value: bytes | None) -> bool:
    state = decode_post_or_none(value)
    return isinstance(state, Post) or state is PostState.ARCHIVED
