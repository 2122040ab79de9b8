"""Profiles against posts, and the public timeline against both."""

import heapq
from collections.abc import Iterable, Sequence
from functools import partial

from accounts.domain import DELETED
from socialsite.ids import AccountId, PostId
from socialsite.store import Key
from timelines import keys
from timelines.audit.discrepancy import Finding
from timelines.audit.members import name_of, pages
from timelines.audit.reader import ABSENT, Looking
from timelines.audit.repairs import Places
from timelines.posts.post import Post


class ProfileChecks:
    def __init__(self, places: Places) -> None:
        self._places = places

    async def profiles(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        owners = {key: keys.author_feed_owner(key) for key in found}
        states = await look.states(owners.values())
        findings: list[Finding] = []
        for key in found:
            if states[owners[key]] == ABSENT:
                repair = self._places.sweep(owners[key])
                findings.append(Finding("profile_without_account", key, repair=repair))
            elif states[owners[key]] != DELETED:
                findings += await self._profile(look, key)
        return findings

    async def _profile(self, look: Looking, key: Key) -> list[Finding]:
        author_id, findings, size = AccountId(keys.author_feed_owner(key)), list[Finding](), 0
        place = self._places.profiles.keys
        async for members in pages(look, key):
            size += len(members)
            posts = await look.posts(int(m) for m, _ in members if m.isdigit())
            for member, score in look.known(members):
                post = posts.get(int(member)) if member.isdigit() else None
                if post is None or post.author_id != author_id:
                    kind = "profile_of_nothing" if post is None else "profile_of_another"
                    drop = self._places.run(("ZREM", key, member))
                    repair = partial(self._places.with_touched, author_id, drop)
                    findings.append(Finding(kind, key, name_of(member), repair))
                elif int(float(score)) != post.id or place.of_post(author_id, post.id) != key:
                    repair = partial(self._move, key, post)
                    findings.append(Finding("profile_misplaced", key, name_of(member), repair))
        if size > (cap := self._places.config.profile_cap):
            trim = self._places.run(("ZREMRANGEBYRANK", key, 0, -cap - 1))
            findings.append(Finding("profile_over_cap", key, repair=trim))
        return findings

    async def _move(self, key: Key, post: Post) -> None:
        """To its right score, in the right part; added first, so that a stop between loses nothing."""
        right = self._places.profiles.keys.of_post(post.author_id, post.id)
        await self._places.store.gather([("ZADD", right, post.id, post.id)])
        if right != key:
            await self._places.store.gather([("ZREM", key, post.id)])
        touched = await self._places.touched.of_authors([post.author_id])
        await touched.invalidate()


class PublicChecks:
    """The public timeline holds the newest posts of all. `met` is told of every post the audit comes by."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._newest: list[PostId] = []  # a heap: of the posts met, the newest PUBLIC_CAP

    def met(self, post_ids: Iterable[PostId]) -> None:
        for post_id in post_ids:
            if len(self._newest) < self._places.config.public_cap:
                heapq.heappush(self._newest, post_id)
            else:
                heapq.heappushpop(self._newest, post_id)

    async def public(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        key, cap = keys.public_timeline(), self._places.config.public_cap
        findings: list[Finding] = []
        ids: set[int] = set()
        size = 0
        async for members in pages(look, key):
            size += len(members)
            ids.update(int(m) for m, _ in members if m.isdigit())
            posts = await look.posts(int(m) for m, _ in members if m.isdigit())
            for member, score in look.known(members):
                post = posts.get(int(member)) if member.isdigit() else None
                if post is None:
                    drop = self._places.run(("ZREM", key, member))
                    findings.append(Finding("public_of_nothing", key, name_of(member), drop))
                elif not post.is_discoverable:
                    drop = self._places.run(("ZREM", key, member))
                    findings.append(Finding("public_of_unlisted", key, name_of(member), drop))
                elif int(float(score)) != post.id:
                    move = self._places.run(("ZADD", key, post.id, post.id))
                    findings.append(Finding("public_misplaced", key, name_of(member), move))
        if size > cap:
            trim = self._places.run(("ZREMRANGEBYRANK", key, 0, -cap - 1))
            findings.append(Finding("public_over_cap", key, repair=trim))
        lowest = min(ids) if size >= cap and ids else 0
        missing = [i for i in self._newest if i > lowest and i not in ids]
        return findings + await self._missing(look, missing)

    async def _missing(self, look: Looking, ids: Sequence[PostId]) -> list[Finding]:
        if not ids:
            return []
        owed, found = await look.owed(), await look.posts(ids)
        posts = {post_id: post for post_id, post in found.items() if post.is_discoverable}
        states = await look.states(post.author_id for post in posts.values())
        scores = await look.gather(
            ("ZSCORE", self._places.profiles.keys.of_post(posts[i].author_id, i), i) for i in ids if i in posts
        )
        placed = zip((i for i in ids if i in posts), scores, strict=True)
        lost = [
            i
            for i, score in placed
            if score and i not in owed.posts and states[posts[i].author_id] not in (ABSENT, DELETED)
        ]
        if not lost:
            return []
        add = partial(self._places.public.add_many, lost)
        return [Finding("public_incomplete", keys.public_timeline(), repair=add)]
