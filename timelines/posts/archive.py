"""The archive: a store on disk for the bodies of old posts.

The key of an archived post has its author's id as a number, the smallest value that Redis has. The archive has the
same MessagePack value as the key had, under the post's id.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from socialsite.store import StoreUnavailable

ArchivedBody = tuple[int, bytes]
"""(post id, MessagePack of the post)"""


class ArchiveUnavailable(StoreUnavailable):
    """The archive cannot be read or written. The error does not mean that a post is absent."""


class InvalidArchiveUrl(ArchiveUnavailable):
    """ARCHIVE_URL names an unknown kind of archive."""


class Archive(Protocol):
    """A key-value store on disk. Every call may be repeated."""

    async def put(self, bodies: Sequence[ArchivedBody]) -> None:
        """The bodies are on disk when this returns."""
        ...

    async def get(self, post_ids: Collection[int]) -> dict[int, bytes]:
        """Return the bodies of the posts that the archive has, in one read."""
        ...

    async def remove(self, post_ids: Collection[int]) -> None: ...

    def iterate_pages(self) -> AsyncIterator[list[ArchivedBody]]:
        """Yield all bodies, ordered by id, in lists of bounded length."""
        ...

    async def close(self) -> None: ...


class NoArchive:
    """For a site without an archive. Reading an archived post raises ArchiveUnavailable."""

    async def put(self, bodies: Sequence[ArchivedBody]) -> None:
        raise ArchiveUnavailable("this site has no archive: set ARCHIVE_URL")

    async def get(self, post_ids: Collection[int]) -> dict[int, bytes]:
        raise ArchiveUnavailable("a post was archived and this site has no archive: set ARCHIVE_URL")

    async def remove(self, post_ids: Collection[int]) -> None:
        raise ArchiveUnavailable("a post was archived and this site has no archive: set ARCHIVE_URL")

    async def iterate_pages(self) -> AsyncIterator[list[ArchivedBody]]:
        return
        yield

    async def close(self) -> None:
        """Do nothing: no connection is open."""
