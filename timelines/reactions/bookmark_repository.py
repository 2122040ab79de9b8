"""Bookmarks: private, kept under the account alone, the newest BOOKMARKS_CAP."""

from socialsite.ids import AccountId, PostId
from socialsite.store import Command, Store
from timelines import keys
from timelines.graph.zset_page import TIES_AFTER
from timelines.reactions.bookmark_cursor import Bookmark

BOOKMARKS_CAP = 10_000


class Bookmarks:
    """`timelines:{<account>}:bookmarks`."""

    def __init__(self, store: Store, cap: int = BOOKMARKS_CAP) -> None:
        self._timelines = store.component("timelines")
        self._cap = cap

    async def add(self, account_id: AccountId, post_id: PostId, now_ms: int) -> bool:
        """False where it was there; then its place stays."""
        key = keys.bookmarks(account_id)
        trim = ("ZREMRANGEBYRANK", key, 0, -self._cap - 1)
        added, _trimmed = await self._timelines.write(key, ("ZADD", key, "NX", now_ms, post_id), trim)
        return bool(added)

    async def remove(self, account_id: AccountId, post_id: PostId) -> bool:
        key = keys.bookmarks(account_id)
        (removed,) = await self._timelines.write(key, ("ZREM", key, post_id))
        return bool(removed)

    async def read(self, account_id: AccountId, edge: Bookmark | None, limit: int, *, upward: bool) -> list[Bookmark]:
        """The ones directly behind `edge`: older and newest first, or `upward`, newer and oldest first."""
        key, place = keys.bookmarks(account_id), self._timelines
        if upward:
            command: Command = ("ZRANGE", key, f"({edge.at_ms}" if edge else "-inf", "+inf", "BYSCORE")
        else:
            command = ("ZRANGE", key, f"({edge.at_ms}" if edge else "+inf", "-inf", "BYSCORE", "REV")
        commands: list[Command] = [(*command, "LIMIT", 0, limit, "WITHSCORES")]
        if edge:
            beyond = ("up" if upward else "down", edge.at_ms, str(edge.post_id), limit)
            commands.append(TIES_AFTER.command((key,), beyond))
        further, *ties = await place.gather(commands)
        found = [Bookmark(edge.at_ms, PostId(int(id))) for id in ties[0]] if edge and ties else []
        if not upward:
            found.reverse()  # ties come lowest first
        found += [
            Bookmark(int(score), PostId(int(member))) for member, score in zip(further[::2], further[1::2], strict=True)
        ]
        return found[:limit]

    async def delete_all(self, account_id: AccountId) -> None:
        """All of them, with the account."""
        key = keys.bookmarks(account_id)
        await self._timelines[key].execute("UNLINK", key)
