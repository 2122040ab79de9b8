"""From ARCHIVE_URL to an archive. Another kind is one class beside SQLiteArchive and one line here."""

from pathlib import Path

from timelines.repositories.archive import Archive, BadArchiveUrl, NoArchive
from timelines.repositories.archive_sqlite import SQLiteArchive


def archive_at(url: str) -> Archive:
    """The archive of a URL; nothing is opened before the first use. Raises BadArchiveUrl."""
    if not url:
        return NoArchive()
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest:
        return SQLiteArchive(Path(rest))
    if scheme in ("postgres", "postgresql"):
        raise BadArchiveUrl("ARCHIVE_URL: PostgreSQL is not supported by this release, use sqlite:///path")
    raise BadArchiveUrl("ARCHIVE_URL must be like sqlite:///var/lib/socialsite/archive.sqlite3")
