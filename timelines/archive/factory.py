"""Creates the archive for ARCHIVE_URL. Another kind of archive needs one class, and one line in this module."""

from pathlib import Path

from timelines.archive.sqlite import SQLiteArchive
from timelines.posts.archive import Archive, InvalidArchiveUrl, NoArchive


def create_archive(url: str) -> Archive:
    """Return the archive of a URL, which is opened at its first use. Raises InvalidArchiveUrl."""
    if not url:
        return NoArchive()
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest:
        return SQLiteArchive(Path(rest))
    if scheme in ("postgres", "postgresql"):
        try:
            from timelines.archive.postgres import PostgresArchive
        except ImportError as error:
            needed = "psycopg: pip install --no-deps --require-hashes -r requirements-postgres.txt"
            raise InvalidArchiveUrl(f"ARCHIVE_URL: PostgreSQL needs {needed}") from error
        return PostgresArchive(url)
    raise InvalidArchiveUrl("ARCHIVE_URL must be sqlite:///path/of/a/file or postgresql://user@host/database")
