"""The archive: a store on disk for the bodies of old posts.

The key of an archived post contains only the id of its author, since Redis stores numbers in the least memory. The
archive stores the former value of the key, a MessagePack array, by post id.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from socialsite.store import StoreUnavailable

ArchivedBody = tuple[int, bytes]
"""A post id, and the post as MessagePack."""


class ArchiveUnavailable(StoreUnavailable):
    """The archive cannot be read or written. The error does not mean that a post is absent."""


class InvalidArchiveUrl(ArchiveUnavailable):
    """ARCHIVE_URL names an unknown kind of archive."""


class PostArchive(Protocol):
    """A key-value store on disk. Every call may be repeated."""

    async def put(self, bodies: Sequence[ArchivedBody]) -> None:
        """Store the bodies. They are on disk when the call returns."""

    async def get(self, post_ids: Collection[int]) -> dict[int, bytes]:
        """Return the bodies of those posts that the archive contains, in one read."""

    async def remove(self, post_ids: Collection[int], *, may_be_absent: bool = False) -> None:
        """Delete the bodies. If `may_be_absent` is set, an archive that was never used is no error."""

    def iterate_pages(self) -> AsyncIterator[list[ArchivedBody]]:
        """Yield all bodies in the order of their ids, as lists of bounded length."""

    async def check(self) -> None:
        """Raise ArchiveUnavailable if the archive does not answer. An archive that has no file yet is no error."""

    async def close(self) -> None: ...


class NoPostArchive:
    """The archive of a site without ARCHIVE_URL. Reading an archived post raises ArchiveUnavailable."""

    async def put(self, bodies: Sequence[ArchivedBody]) -> None:
        raise ArchiveUnavailable("this site has no archive: set ARCHIVE_URL")

    async def get(self, post_ids: Collection[int]) -> dict[int, bytes]:
        raise ArchiveUnavailable("a post was archived and this site has no archive: set ARCHIVE_URL")

    async def remove(self, post_ids: Collection[int], *, may_be_absent: bool = False) -> None:
        if not may_be_absent:
            raise ArchiveUnavailable("a post was archived and this site has no archive: set ARCHIVE_URL")

    async def iterate_pages(self) -> AsyncIterator[list[ArchivedBody]]:
        return
        yield

    async def check(self) -> None:
        """Do nothing: a site without an archive needs none."""

    async def close(self) -> None:
        """Do nothing, since no connection is open."""
