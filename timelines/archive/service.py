"""Old posts to the archive, and back (the sidebar of the book's section 10.3.3). Pages read them as before.

The body is on the disk before the store lets go of it; the marker takes the place of exactly the value that
was written there. So a stop anywhere, and any number of repetitions, lose and double nothing.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from socialsite.ids import id_at
from socialsite.maintenance.backup import scan_keys
from socialsite.maintenance.scanning import OnProgress, ignore_progress
from socialsite.store import Key, Node, Store, load_script
from socialsite.store.aof import wait_for_aof_at_exit
from timelines import keys
from timelines.posts.archive import Archive, Body
from timelines.posts.post import Post, decode_post
from timelines.posts.stored_values import PostState, decode_stored

if TYPE_CHECKING:
    from socialsite.services import Services

TO_MARKER = load_script("archive_post.lua", __package__)
TO_BODY = load_script("unarchive_post.lua", __package__)


@dataclass(slots=True)
class Moved:
    """`posts` moved; bytes of Redis that their keys took before and take now."""

    posts: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    removed: int = 0


class ArchivingService:
    def __init__(self, store: Store, archive: Archive) -> None:
        self._store = store
        self._archive = archive

    @classmethod
    def over(cls, services: "Services") -> Self:
        return cls(services.store, services.repositories.archive)

    async def archive(self, before_ms: int, on_step: OnProgress = ignore_progress, *, dry_run: bool = False) -> Moved:
        """Move the bodies of all posts from before `before_ms` (Unix ms)."""
        moved = Moved()
        async for node, found in self._old(int(id_at(before_ms)), on_step):
            values = await node.pipeline([("GET", key) for key in found])
            posts = [(k, v) for k, v in zip(found, values, strict=True) if isinstance(decode_stored(v), Post)]
            sizes = await weights(node, [key for key, _ in posts])
            moved.posts += len(posts)
            moved.bytes_before += sum(sizes)
            if not dry_run and posts:
                await self._move(posts)
                moved.bytes_after += sum(await weights(node, [key for key, _ in posts]))
        if not dry_run:
            moved.removed = await self._tidy()
        return moved

    async def bring_back(self, on_step: OnProgress = ignore_progress) -> int:
        """Everything into the store again; how many posts."""
        count = 0
        async for page in self._archive.pages():
            on_step(len(page))
            commands = [TO_BODY.command([keys.post(i)], [marker_of(body), body]) for i, body in page]
            async with wait_for_aof_at_exit():  # the archive has the only other copy
                count += sum(await self._store.gather(commands))
            await self._archive.remove([post_id for post_id, _ in page])
        return count

    async def _old(self, below: int, on_step: OnProgress) -> AsyncIterator[tuple[Node, list[Key]]]:
        for node in self._store.nodes:
            async for found in scan_keys(node, on_step):
                old = [k for k in found if k.component == "posts" and k.endswith(":post") and int(k.tag) < below]
                if old:
                    yield node, list(dict.fromkeys(old))

    async def _move(self, posts: Sequence[tuple[Key, bytes]]) -> None:
        await self._archive.put([(int(key.tag), body) for key, body in posts])
        swaps = [TO_MARKER.command([key], [body, marker_of(body)]) for key, body in posts]
        done = await self._store.gather(swaps)
        # Deleted meanwhile: the tombstone stands, so nothing of the post may stay.
        lost = [int(key.tag) for (key, _), swapped in zip(posts, done, strict=True) if not swapped]
        await self._archive.remove(lost)

    async def _tidy(self) -> int:
        """Take out bodies whose posts are not marked as archived: deleted, or a move that was broken off."""
        removed = 0
        async for page in self._archive.pages():
            async with wait_for_aof_at_exit():
                values = await self._store.gather([("GET", keys.post(post_id)) for post_id, _ in page])
            idle = [i for (i, _), v in zip(page, values, strict=True) if decode_stored(v) is not PostState.ARCHIVED]
            await self._archive.remove(idle)
            removed += len(idle)
        return removed


async def weights(node: Node, found: Sequence[Key]) -> list[int]:
    """Bytes that each key takes, by the server's word."""
    return [int(size or 0) for size in await node.pipeline([("MEMORY", "USAGE", key) for key in found])]


def place_of(url: str) -> str:
    """ARCHIVE_URL for people to read: without user, password and parameters."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def marker_of(body: bytes) -> bytes:
    """What stays at the post's key: the author's id."""
    return b"%d" % decode_post(body).author_id


class ArchivedBodies:
    """The archive as a backup sees it."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def pages(self) -> AsyncIterator[list[Body]]:
        return self._archive.pages()

    def post_key(self, post_id: int) -> Key:
        return keys.post(post_id)

    async def put(self, bodies: Sequence[tuple[Key, bytes]]) -> None:
        if bodies:
            await self._archive.put([(int(key.tag), body) for key, body in bodies])

    async def clear(self) -> None:
        """Before a restore over what was there."""
        async for page in self._archive.pages():
            await self._archive.remove([post_id for post_id, _ in page])
