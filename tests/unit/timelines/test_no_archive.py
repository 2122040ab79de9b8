"""On a site without an archive, an archived post raises an error instead of being absent."""

import pytest

from timelines.posts.post_archive import ArchiveUnavailable, NoPostArchive


async def test_every_operation_on_a_missing_archive_raises_an_error() -> None:
    archive = NoPostArchive()
    for asked in (archive.put([]), archive.get([1]), archive.remove([1])):
        with pytest.raises(ArchiveUnavailable):
            await asked
    assert [page async for page in archive.iterate_pages()] == []
    await archive.close()
