"""Home and list timelines against a rebuild, by the rules of repositories/cached.py.

What is owed to the worker may still be missing; a deleted post may still be there; below the floor nothing is
promised. The repair is always the same: forget the timeline, its next reader rebuilds it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from socialsite.ids import AccountId, PostId, id_at
from socialsite.store import Key
from timelines import keys
from timelines.audit.discrepancy import Finding
from timelines.audit.reader import ABSENT, Looking, read
from timelines.audit.repairs import Places
from timelines.author_feeds.merging import merge_nearest
from timelines.cached_timelines.repository import MAX_DISORDER_MS, CachedTimelines
from timelines.ids import ListId
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.post import Post
from timelines.posts.stored_values import PostState

MARGIN = MAX_DISORDER_MS << 12
NAMED = 5  # ids that the line of a finding names


@dataclass(frozen=True, slots=True)
class Elements:
    """A cached timeline as it lies in the store."""

    ids: list[int]
    floor: int


class CachedChecks:
    def __init__(self, places: Places) -> None:
        self._places = places

    async def homes(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        states = await look.states(int(key.tag) for key in found)
        findings: list[Finding] = []
        for key in found:
            owner = AccountId(int(key.tag))
            if states[owner] == ABSENT:
                forget = partial(self._places.homes.invalidate, owner)
                findings.append(Finding("home_of_nobody", key, repair=forget))
            else:
                findings += await self._timeline(look, key, owner, self._places.homes)
        return findings

    async def list_timelines(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        ids = [ListId(int(key.tag[1:])) for key in found]
        lives = await look.gather(("PTTL", keys.account_list(list_id)) for list_id in ids)
        findings: list[Finding] = []
        for key, list_id, left_ms in zip(found, ids, lives, strict=True):
            if left_ms != -1:  # the trace of a deleted list has a lifetime
                forget = partial(self._places.list_timelines.invalidate, list_id)
                findings.append(Finding("list_timeline_of_nobody", key, repair=forget))
            else:
                findings += await self._timeline(look, key, list_id, self._places.list_timelines)
        return findings

    async def _timeline(self, look: Looking, key: Key, owner: int, timelines: CachedTimelines) -> list[Finding]:
        owed = await look.owed()  # before the timeline: what was delivered since is in it
        most = 3 * timelines.cap + 100
        elements, size, left_ms = await look.gather([("LRANGE", key, 0, most - 1), ("LLEN", key), ("PTTL", key)])
        if not elements:
            return []
        name = "home" if timelines is self._places.homes else "list_timeline"
        repair = partial(timelines.invalidate, owner)
        if left_ms == -1:
            return [Finding(f"{name}_eternal", key, repair=repair)]
        if elements[-1].startswith(b"building:"):
            return []
        if size > most:
            return [Finding(f"{name}_over_cap", key, repair=repair)]
        held = elements_of(elements)
        if held is None:
            return [Finding(f"{name}_without_floor", key, repair=repair)]
        if not in_order(held.ids):
            return [Finding(f"{name}_out_of_order", key, repair=repair)]
        return [
            Finding(f"{name}_{kind}", key, named(ids), repair)
            for kind, ids in await self._against_rebuild(look, key, owner, held, owed.posts, owed.is_whole)
            if ids
        ]

    async def _against_rebuild(
        self, look: Looking, key: Key, owner: int, held: Elements, owed: frozenset[int], all_owed: bool
    ) -> list[tuple[str, Sequence[int]]]:
        is_home = key.endswith(":home")
        authors = await self._authors(owner, is_home=is_home)
        wanted = len(held.ids) + 200
        right = [
            i for i in await merge_nearest(self._places.profiles, authors, ABOVE_ALL_IDS, wanted) if i > held.floor
        ]
        ids = {i for i in held.ids if i > held.floor}
        missing = [i for i in right if i not in ids and i not in owed] if all_owed else []
        if missing and is_home:
            missing = await self._pushed(look, missing)
        known = set(right)
        foreign = await self._foreign(look, [i for i in ids if i not in known], set(authors), owed)
        return [("incomplete", missing), ("of_strangers", foreign)]

    async def _pushed(self, look: Looking, ids: Sequence[PostId]) -> list[PostId]:
        """Without those that readers take from the profiles of much followed authors (pulling.py)."""
        since = await self._places.pulled.read_all()
        if not since:
            return list(ids)
        values = await look.gather(("GET", keys.post(post_id)) for post_id in ids)
        written = zip(ids, map(read, values), strict=True)
        return [i for i, post in written if not (isinstance(post, Post) and i >= since_id(since, post))]

    async def _foreign(
        self, look: Looking, ids: Sequence[int], authors: set[AccountId], owed: frozenset[int]
    ) -> list[int]:
        """Ids of what never was a post, or of none of these authors. Deleted posts keep their ids."""
        values = await look.gather(("GET", keys.post(post_id)) for post_id in ids)
        foreign: list[int] = []
        for post_id, value in zip(ids, values, strict=True):
            post = read(value)
            strange = isinstance(post, Post) and post.author_id not in authors and post_id not in owed
            if post is PostState.ABSENT or post is None or strange:
                foreign.append(post_id)
        return foreign

    async def _authors(self, owner: int, *, is_home: bool) -> list[AccountId]:
        if is_home:
            viewer = AccountId(owner)
            return [*await self._places.follows.following_ids(viewer), viewer]
        return await self._places.members.member_ids(ListId(owner))


def since_id(since: Mapping[AccountId, int], post: Post) -> int:
    """The id from which on posts of this author need not stand in homes."""
    return id_at(since[post.author_id]) if post.author_id in since else ABOVE_ALL_IDS


def elements_of(elements: Sequence[bytes]) -> Elements | None:
    """None where the last element is no floor, or another is no id."""
    last = elements[-1]
    if not last.startswith(b"-") or not last[1:].isdigit():
        return None
    if not all(element.isdigit() for element in elements[:-1]):
        return None
    return Elements([int(element) for element in elements[:-1]], int(last[1:]))


def in_order(ids: Sequence[int]) -> bool:
    """Newest first, but for the margin that readers sort."""
    lowest = ABOVE_ALL_IDS
    for post_id in ids:
        if post_id - lowest > MARGIN:
            return False
        lowest = min(lowest, post_id)
    return True


def named(ids: Sequence[int]) -> str:
    """For the detail of a finding; ids that came since the first look do not make it another one."""
    return ",".join(map(str, sorted(ids)[:NAMED]))
