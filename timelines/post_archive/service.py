"""Moves the bodies of old posts to the archive and back (Redis in Action, sidebar of section 10.3.3).

A body is on disk before a mark replaces it in Redis, and the mark replaces only the value that was written to disk. So
a crash or a repetition neither loses nor duplicates a post.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from socialsite.ids import id_at
from socialsite.maintenance.scanning import OnProgress, ignore_progress, scan_keys
from socialsite.store import Key, Node, Store, load_script
from socialsite.store.aof import wait_for_aof_at_exit
from timelines import keys
from timelines.posts.post import Post, decode_post
from timelines.posts.post_archive import ArchivedBody, PostArchive
from timelines.posts.repository import UNARCHIVE_POST_SCRIPT
from timelines.posts.stored_values import PostState, decode_stored

TO_MARKER = load_script("archive_post.lua", __package__)


@dataclass(slots=True)
class ArchiveResult:
    """The result of a run: the number of moved posts, and the bytes of their keys before and after.

    It also has the number of bodies that were removed from the archive because their posts are deleted.
    """

    posts: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    removed: int = 0


class ArchivingService:
    def __init__(self, store: Store, archive: PostArchive) -> None:
        self._store = store
        self._archive = archive

    async def archive(
        self, before_ms: int, on_progress: OnProgress = ignore_progress, *, dry_run: bool = False
    ) -> ArchiveResult:
        """Move the bodies of all posts that are older than `before_ms` (Unix ms)."""
        result = ArchiveResult()
        async for node, post_keys in self._old_posts(int(id_at(before_ms)), on_progress):
            values = await node.execute_all([("GET", key) for key in post_keys])
            posts = [(key, v) for key, v in zip(post_keys, values, strict=True) if isinstance(decode_stored(v), Post)]
            sizes = await key_sizes(node, [key for key, _ in posts])
            result.posts += len(posts)
            result.bytes_before += sum(sizes)
            if not dry_run and posts:
                await self._move(posts)
                result.bytes_after += sum(await key_sizes(node, [key for key, _ in posts]))
        if not dry_run:
            result.removed = await self._remove_orphans()
        return result

    async def restore_all(self, on_progress: OnProgress = ignore_progress) -> int:
        """Move every body back to Redis. Return the number of posts."""
        count = 0
        async for page in self._archive.iterate_pages():
            on_progress(len(page))
            commands = [UNARCHIVE_POST_SCRIPT.command([keys.post(i)], [make_marker(body), body]) for i, body in page]
            async with wait_for_aof_at_exit():  # afterwards the copy in the archive is deleted
                count += sum(await self._store.execute_all(commands))
            await self._archive.remove([post_id for post_id, _ in page])
        return count

    async def _old_posts(self, below: int, on_progress: OnProgress) -> AsyncIterator[tuple[Node, list[Key]]]:
        for node in self._store.nodes:
            async for page in scan_keys(node, on_progress):
                old = [k for k in page if k.component == "posts" and k.endswith(":post") and int(k.tag) < below]
                if old:
                    yield node, list(dict.fromkeys(old))

    async def _move(self, posts: Sequence[tuple[Key, bytes]]) -> None:
        await self._archive.put([(int(key.tag), body) for key, body in posts])
        swaps = [TO_MARKER.command([key], [body, make_marker(body)]) for key, body in posts]
        done = await self._store.execute_all(swaps)
        deleted = [int(key.tag) for (key, _), swapped in zip(posts, done, strict=True) if not swapped]
        await self._archive.remove(deleted)

    async def _remove_orphans(self) -> int:
        """Remove bodies whose posts are not marked as archived.

        A deletion or an interrupted move leaves such bodies.
        """
        removed = 0
        async for page in self._archive.iterate_pages():
            async with wait_for_aof_at_exit():
                values = await self._store.execute_all([("GET", keys.post(post_id)) for post_id, _ in page])
            orphans = [i for (i, _), v in zip(page, values, strict=True) if decode_stored(v) is not PostState.ARCHIVED]
            await self._archive.remove(orphans)
            removed += len(orphans)
        return removed


async def key_sizes(node: Node, post_keys: Sequence[Key]) -> list[int]:
    """Return the size of each key in bytes, as MEMORY USAGE measures it."""
    return [int(size or 0) for size in await node.execute_all([("MEMORY", "USAGE", key) for key in post_keys])]


def public_url(url: str) -> str:
    """Return ARCHIVE_URL without user, password and parameters, so that it can be printed."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def make_marker(body: bytes) -> bytes:
    """Return the value that replaces an archived body in Redis: the author's id in decimal digits."""
    return b"%d" % decode_post(body).author_id


class ArchivedBodies:
    """The interface of the archive that backups and restores use (socialsite.maintenance)."""

    def __init__(self, archive: PostArchive) -> None:
        self._archive = archive

    def pages(self) -> AsyncIterator[list[ArchivedBody]]:
        return self._archive.iterate_pages()

    def post_key(self, post_id: int) -> Key:
        return keys.post(post_id)

    async def put(self, bodies: Sequence[tuple[Key, bytes]]) -> None:
        if bodies:
            await self._archive.put([(int(key.tag), body) for key, body in bodies])

    async def clear(self) -> None:
        async for page in self._archive.iterate_pages():
            await self._archive.remove([post_id for post_id, _ in page])
