"""Compares home and list timelines with the result of a rebuild.

Three differences are allowed: a post of a pending job may be missing, a deleted post may still be there, and ids below
the floor may be missing. The repair invalidates the timeline, and its next reader rebuilds it.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from socialsite.ids import AccountId, PostId, id_at
from socialsite.store import Key
from timelines import keys
from timelines.audit.context import Checks
from timelines.audit.discrepancy import Discrepancy
from timelines.audit.mirrors import Existing, existing_lists
from timelines.audit.reader import AuditReader, PendingJobs, decode_post_or_none
from timelines.author_timelines.merging import merge_nearest
from timelines.cached_timelines.repository import MAX_DISORDER_MS, CachedTimelines
from timelines.ids import ListId
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.post import Post
from timelines.posts.stored_values import PostState

MAX_DISORDER_IDS = MAX_DISORDER_MS << 12
IDS_IN_DETAIL = 5


@dataclass(frozen=True, slots=True)
class StoredTimeline:
    """The ids of a cached timeline, and the id down to which it is complete."""

    ids: list[int]
    floor: int


class CachedTimelineChecks(Checks):
    def homes(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        return self._check_owners(reader, checked, self._context.homes, AuditReader.existing_accounts)

    def list_timelines(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        return self._check_owners(reader, checked, self._context.list_timelines, existing_lists)

    async def _check_owners(
        self, reader: AuditReader, checked: Sequence[Key], timelines: CachedTimelines, find_existing: Existing
    ) -> AsyncIterator[Discrepancy]:
        name = "home" if timelines is self._context.homes else "list_timeline"
        owners = {key: int(key.tag.removeprefix("l")) for key in checked}
        existing = await find_existing(reader, owners.values())
        for key, owner in owners.items():
            if owner not in existing:
                yield Discrepancy(f"{name}_of_nobody", key, repair=partial(timelines.invalidate, owner))
            else:
                for found in await self._check(reader, key, owner, timelines, name):
                    yield found

    async def _check(
        self, reader: AuditReader, key: Key, owner: int, timelines: CachedTimelines, name: str
    ) -> list[Discrepancy]:
        jobs = await reader.pending_jobs()  # read before the timeline, which has the posts that are delivered meanwhile
        limit = 3 * timelines.cap + 100
        elements, size, ttl_ms = await reader.execute_all([("LRANGE", key, 0, limit - 1), ("LLEN", key), ("PTTL", key)])
        if not elements:
            return []
        invalidate = partial(timelines.invalidate, owner)
        if ttl_ms == -1:
            return [Discrepancy(f"{name}_eternal", key, repair=invalidate)]
        if elements[-1].startswith(b"building:"):
            return []
        if size > limit:
            return [Discrepancy(f"{name}_over_cap", key, repair=invalidate)]
        stored = parse_timeline(elements)
        if stored is None:
            return [Discrepancy(f"{name}_without_floor", key, repair=invalidate)]
        if not is_ordered(stored.ids):
            return [Discrepancy(f"{name}_out_of_order", key, repair=invalidate)]
        missing, foreign = await self._compare_with_rebuild(reader, key, owner, stored, jobs)
        return [
            Discrepancy(f"{name}_{kind}", key, detail_of_ids(ids), invalidate)
            for kind, ids in (("incomplete", missing), ("of_strangers", foreign))
            if ids
        ]

    async def _compare_with_rebuild(
        self, reader: AuditReader, key: Key, owner: int, stored: StoredTimeline, jobs: PendingJobs
    ) -> tuple[list[PostId], list[int]]:
        """Return the missing ids, and the ids that do not belong in the timeline."""
        is_home = key.endswith(":home")
        authors = await self._read_authors(owner, is_home=is_home)
        nearest = await merge_nearest(self._context.profiles, authors, ABOVE_ALL_IDS, len(stored.ids) + 200)
        expected = [post_id for post_id in nearest if post_id > stored.floor]
        ids = {post_id for post_id in stored.ids if post_id > stored.floor}
        missing = [i for i in expected if i not in ids and i not in jobs.posts] if jobs.is_complete else []
        if missing and is_home:
            missing = await self._without_fan_out_on_read(reader, missing)
        return missing, await self._find_foreign(reader, list(ids.difference(expected)), set(authors), jobs)

    async def _without_fan_out_on_read(self, reader: AuditReader, ids: Sequence[PostId]) -> list[PostId]:
        """Return the ids without posts of authors in fan-out on read, whose posts are merged when a home is read."""
        since_ms = await self._context.pulled.read_all()
        if not since_ms:
            return list(ids)
        values = await reader.execute_all(("GET", keys.post(post_id)) for post_id in ids)
        posts = zip(ids, map(decode_post_or_none, values), strict=True)
        return [i for i, post in posts if not (isinstance(post, Post) and i >= first_read_id(since_ms, post))]

    async def _find_foreign(
        self, reader: AuditReader, ids: Sequence[int], authors: set[AccountId], jobs: PendingJobs
    ) -> list[int]:
        """Return the ids that never belonged to a post, or that are posts of other authors.

        Deleted posts are left out.
        """
        values = await reader.execute_all(("GET", keys.post(post_id)) for post_id in ids)
        foreign: list[int] = []
        for post_id, value in zip(ids, values, strict=True):
            post = decode_post_or_none(value)
            is_other = isinstance(post, Post) and post.author_id not in authors and post_id not in jobs.posts
            if post is PostState.ABSENT or post is None or is_other:
                foreign.append(post_id)
        return foreign

    async def _read_authors(self, owner: int, *, is_home: bool) -> list[AccountId]:
        if is_home:
            viewer = AccountId(owner)
            return [*await self._context.follows.following_ids(viewer), viewer]
        return await self._context.members.member_ids(ListId(owner))


def first_read_id(since_ms: Mapping[AccountId, int], post: Post) -> int:
    """Return the id from which on the posts of this author are read by fan-out on read."""
    return id_at(since_ms[post.author_id]) if post.author_id in since_ms else ABOVE_ALL_IDS


def parse_timeline(elements: Sequence[bytes]) -> StoredTimeline | None:
    """Return the ids and the floor. Return None if the last element is no floor, or another element is no id."""
    last = elements[-1]
    if not last.startswith(b"-") or not last[1:].isdigit():
        return None
    if not all(element.isdigit() for element in elements[:-1]):
        return None
    return StoredTimeline([int(element) for element in elements[:-1]], int(last[1:]))


def is_ordered(ids: Sequence[int]) -> bool:
    """Return whether the newest ids come first.

    Ids up to MAX_DISORDER_IDS out of order are allowed: readers sort them.
    """
    lowest = ABOVE_ALL_IDS
    for post_id in ids:
        if post_id - lowest > MAX_DISORDER_IDS:
            return False
        lowest = min(lowest, post_id)
    return True


def detail_of_ids(ids: Sequence[int]) -> str:
    """Return the oldest ids as text. Ids that are added between the two checks do not change this text."""
    return ",".join(map(str, sorted(ids)[:IDS_IN_DETAIL]))
