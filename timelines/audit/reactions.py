"""Likes and boosts: the sets of a post against its counts, and against the index of each account.

The post's set is the truth (repositories/reactions.py). Where it lacks a like that an index has, it is
completed all the same: a lost set takes more likes along than were ever half taken back. A boost's id stands
in the set and in the boost itself, so a set is completed from the boosts that stand.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from socialsite.ids import AccountId, PostId
from socialsite.store import Key
from timelines import keys
from timelines.audit.discrepancy import Finding
from timelines.audit.members import first_pages, name_of
from timelines.audit.reader import ABSENT, Looking
from timelines.audit.repairs import Places
from timelines.posts.counts import LEAVE_SET, count_script_keys
from timelines.posts.post import Post
from timelines.reactions.repository import PostGone, ReactionKind

NOBODY = AccountId(0)
"""Taking out who was never in a set writes the counts anew."""
COUNTED = (keys.replies, keys.boosts, keys.likes)
"""In the order of the counts."""
NAMES = {ReactionKind.LIKE: "like", ReactionKind.BOOST: "boost"}


class ReactionChecks:
    def __init__(self, places: Places) -> None:
        self._places = places
        self._reactions = places.reactions

    async def counts(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        """The counts that pages show are the sizes of the three sets, written with each change of them."""
        ids = list(dict.fromkeys(PostId(int(key.tag)) for key in found))
        held = await look.gather(("GET", keys.post_counts(post_id)) for post_id in ids)
        sizes = await look.gather(("ZCARD", counted(post_id)) for post_id in ids for counted in COUNTED)
        findings: list[Finding] = []
        for number, (post_id, said) in enumerate(zip(ids, held, strict=True)):
            right = " ".join(map(str, sizes[3 * number : 3 * number + 3])).encode()
            if (said or b"0 0 0") != right:
                detail = f"{(said or b'').decode(errors='replace')} != {right.decode()}"
                recount = partial(self._recount, post_id)
                findings.append(Finding("counts_wrong", keys.post_counts(post_id), detail, recount))
        return findings

    async def likes(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        return await self._sets(look, found, ReactionKind.LIKE)

    async def boosts(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        return await self._sets(look, found, ReactionKind.BOOST)

    async def fading(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        """Of deleted posts, boosts that nobody is about to take along: whoever was has died over it."""
        owed = await look.owed()
        left = ((key, PostId(int(key.tag))) for key in found)
        return [
            Finding("boosts_left", key, repair=self._places.fade(post_id), is_damage=False)
            for key, post_id in left
            if owed.is_whole and post_id not in owed.posts
        ]

    async def liked(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        return await self._indexes(look, found, ReactionKind.LIKE)

    async def boosted(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        return await self._indexes(look, found, ReactionKind.BOOST)

    async def unlisted(self, look: Looking, posts: Mapping[Key, Post]) -> list[Finding]:
        """Each boost that stands is the one its original's set names for its author."""
        pairs = [(key, post, post.boost_of) for key, post in posts.items() if post.boost_of is not None]
        held = await look.gather(("ZSCORE", keys.boosts(original), post.author_id) for _, post, original in pairs)
        standing = await look.posts(original for _, _, original in pairs)
        missing = (pair for pair, score in zip(pairs, held, strict=True) if score is None)
        lost = [pair for pair in missing if pair[2] in standing]
        owed = await look.owed() if lost else None
        return [
            Finding("boost_unlisted", key, str(original), partial(self._list_boost, post, original))
            for key, post, original in lost
            if owed and post.id not in owed.posts
        ]

    async def _sets(self, look: Looking, found: Sequence[Key], kind: ReactionKind) -> list[Finding]:
        """Each member is an account, and its index says the same."""
        findings, name = await self.counts(look, found), NAMES[kind]
        standing = await look.posts(int(key.tag) for key in found)
        async for key, members in first_pages(look, list(found)):
            post_id = PostId(int(key.tag))
            if post_id not in standing:
                if look.known([(key.tag.encode(), b"")]):
                    findings.append(Finding(f"{name}s_of_nothing", key, repair=partial(self._drop, key)))
                continue
            ids = [AccountId(int(member)) for member, _ in members if member.isdigit()]
            states = await look.states(ids)
            noted = await look.gather(("ZSCORE", kind.index(id), post_id) for id in ids)
            for account_id, score in zip(ids, noted, strict=True):
                if states[account_id] == ABSENT:
                    leave = partial(self._leave, kind, post_id, account_id)
                    findings.append(Finding(f"{name}_of_nobody", key, str(account_id), leave))
                elif score is None:
                    note = partial(self._reactions.sync_index, kind, post_id, account_id)
                    findings.append(Finding(f"{name}_unindexed", key, str(account_id), note))
        return findings

    async def _indexes(self, look: Looking, found: Sequence[Key], kind: ReactionKind) -> list[Finding]:
        """Each entry is a post that stands and whose set has the account. Of deleted posts they are left."""
        findings, name = list[Finding](), NAMES[kind]
        async for key, members in first_pages(look, list(found)):
            account_id = AccountId(int(key.tag))
            scores = {int(member): score for member, score in members if member.isdigit()}
            standing = await look.posts(scores)
            held = await look.gather(("ZSCORE", kind.members(post_id), account_id) for post_id in scores)
            for post_id, there in zip(scores, held, strict=True):
                if there is None and post_id in standing:
                    mend = partial(self._complete, kind, PostId(post_id), account_id, scores[post_id])
                    findings.append(Finding(f"{name}_one_sided", key, str(post_id), mend))
                elif post_id not in standing and look.known([(b"%d" % post_id, b"")]):
                    drop = self._places.run(("ZREM", key, post_id))
                    findings.append(Finding(f"{name}_gone", key, str(post_id), drop, is_damage=False))
            findings += self._garbage(key, (member for member, _ in members if not member.isdigit()))
        return findings

    def _garbage(self, key: Key, members: Iterable[bytes]) -> list[Finding]:
        return [
            Finding("reaction_garbage", key, name_of(member), self._places.run(("ZREM", key, member)))
            for member in members
        ]

    async def _complete(self, kind: ReactionKind, post_id: PostId, account_id: AccountId, score: bytes) -> None:
        if kind is ReactionKind.LIKE:
            with contextlib.suppress(PostGone):
                await self._reactions.add(kind, post_id, account_id, int(float(score)))
        await self._reactions.sync_index(kind, post_id, account_id)

    async def _list_boost(self, post: Post, original: PostId) -> None:
        try:
            await self._reactions.add(ReactionKind.BOOST, original, post.author_id, post.id)
        except PostGone:
            return
        await self._reactions.sync_index(ReactionKind.BOOST, original, post.author_id)

    async def _leave(self, kind: ReactionKind, post_id: PostId, account_id: AccountId) -> None:
        await self._reactions.remove(kind, post_id, account_id)

    async def _drop(self, key: Key) -> None:
        await self._places.store.gather([("DEL", key)])
        await self._recount(PostId(int(key.tag)))

    async def _recount(self, post_id: PostId) -> None:
        command = LEAVE_SET.command(count_script_keys(post_id, keys.likes), [NOBODY])
        await self._places.store.gather([command])
