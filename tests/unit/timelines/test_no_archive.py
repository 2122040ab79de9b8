"""A site without an archive: meeting an archived post is trouble, never absence."""

import pytest

from timelines.posts.archive import ArchiveUnavailable, NoArchive


async def test_nothing_is_archived_read_or_removed_without_saying_so() -> None:
    archive = NoArchive()
    for asked in (archive.put([]), archive.get([1]), archive.remove([1])):
        with pytest.raises(ArchiveUnavailable):
            await asked
    assert [page async for page in archive.iterate_pages()] == []
    await archive.close()
