"""Where the bodies of old posts lie: outside Redis, on a disk (the book's sidebar on the message database).

A post that was moved leaves its author's id at its key, as a number: the smallest value Redis has. Bodies are
the same MessagePack values as in the store, under the posts' ids.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from socialsite.store import StoreUnavailable

ArchivedBody = tuple[int, bytes]
"""(post id, MessagePack of the post)"""


class ArchiveUnavailable(StoreUnavailable):
    """The archive cannot be read or written: never the same as a post that is not there."""


class InvalidArchiveUrl(ArchiveUnavailable):
    """ARCHIVE_URL names no archive that this release knows."""


class Archive(Protocol):
    """A key-value store on disk. Everything may be repeated."""

    async def put(self, bodies: Sequence[ArchivedBody]) -> None:
        """On the disk when this returns."""
        ...

    async def get(self, post_ids: Collection[int]) -> dict[int, bytes]:
        """In one read; absent ones are left out."""
        ...

    async def remove(self, post_ids: Collection[int]) -> None: ...

    def iterate_pages(self) -> AsyncIterator[list[ArchivedBody]]:
        """Everything, by id, a bounded number at once."""
        ...

    async def close(self) -> None: ...


class NoArchive:
    """For a site that archives nothing; meeting an archived post is trouble, not absence."""

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
        """Nothing is open."""
