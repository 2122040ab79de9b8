"""From ARCHIVE_URL to an archive. Another kind is one class beside SQLiteArchive and one line here."""

from pathlib import Path

from timelines.archive.sqlite import SQLiteArchive
from timelines.posts.archive import Archive, BadArchiveUrl, NoArchive


def archive_at(url: str) -> Archive:
    """The archive of a URL; nothing is opened before the first use. Raises BadArchiveUrl."""
    if not url:
        return NoArchive()
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest:
        return SQLiteArchive(Path(rest))
    if scheme in ("postgres", "postgresql"):
        return _postgres(url)
    raise BadArchiveUrl("ARCHIVE_URL must be sqlite:///path/of/a/file or postgresql://user@host/database")


def _postgres(url: str) -> Archive:
    try:
        from timelines.archive.postgres import PostgresArchive
    except ImportError as error:
        raise BadArchiveUrl(
            "ARCHIVE_URL: PostgreSQL needs psycopg: pip install --require-hashes -r requirements-postgres.txt"
        ) from error
    return PostgresArchive(url)
