"""Creates the archive for ARCHIVE_URL. Another kind of archive needs one class, and one line in this module."""

from pathlib import Path

from timelines.post_archive.sqlite import SQLiteArchive
from timelines.posts.post_archive import InvalidArchiveUrl, NoPostArchive, PostArchive


def create_archive(url: str) -> PostArchive:
    """Return the archive of a URL, which is opened at its first use. Raises InvalidArchiveUrl."""
    if not url:
        return NoPostArchive()
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest:
        return SQLiteArchive(Path(rest))
    if scheme in ("postgres", "postgresql"):
        try:
            from timelines.post_archive.postgres import PostgresArchive
        except ImportError as error:
            needed = "psycopg: pip install --no-deps --require-hashes -r requirements-postgres.txt"
            raise InvalidArchiveUrl(f"ARCHIVE_URL: PostgreSQL needs {needed}") from error
        return PostgresArchive(url)
    raise InvalidArchiveUrl("ARCHIVE_URL must be sqlite:///path/of/a/file or postgresql://user@host/database")
