"""Reads an archive or a list without a store, and counts what an import would find.

The counts have no text, name or address of the file, so that its owner may send them with a bug report.
"""

from os import SEEK_END
from pathlib import PurePosixPath
from typing import IO

from timelines.exporting.repository import BOOKMARK, LIKE
from timelines.exporting.transfer import ImportContent
from timelines.importing.account_archive import AccountArchive
from timelines.importing.account_lists import read_rows
from timelines.importing.archive_files import ArchiveUnreadable
from timelines.importing.lines import ROW_ERRORS, LineRefused, Tally
from timelines.importing.posts import check_picture
from timelines.importing.rows import PostRow, RowRules
from timelines.importing.service import CSV_MAX_BYTES, open_archive
from timelines.media.media import MEDIA_PER_POST

ENDINGS = frozenset({
    "json", "js", "csv", "html", "txt",
    "jpg", "jpeg", "png", "gif", "webp", "avif", "heic", "mp4", "mov", "webm", "mp3",
})  # fmt: skip
MARKS = {LIKE: "likes", BOOKMARK: "bookmarks"}


def try_archive(file: IO[bytes], base_url: str, rules: RowRules, tally: Tally) -> str:
    """Count the rows of an archive, and return the name of the program that wrote it. Raises ArchiveUnreadable."""
    archive = open_archive(file, "owner", base_url)
    program = "Bluesky"
    if isinstance(archive, AccountArchive):
        program = "Mastodon, or a program with its files" if archive.is_mastodon else "X"
        for path in archive.files.paths():
            ending = PurePosixPath(path).suffix.removeprefix(".").lower()
            tally.counts[f"files: {ending if ending in ENDINGS else 'others'}"] += 1
    for number, line in archive.lines(tally):
        try:
            row = rules.parse(number, line)
        except ROW_ERRORS as error:
            tally.refuse_row(number, error)
        else:
            _count_row(row, tally)
            if isinstance(archive, AccountArchive):
                _try_pictures(archive, row, tally)
    if isinstance(archive, AccountArchive):
        tally.counts.update(MARKS[marked.kind] for marked in archive.marked_posts())
    return program


def try_list(file: IO[bytes], content: ImportContent, tally: Tally) -> str:
    """Count the rows of a list, and return its kind. Raises ArchiveUnreadable, also if it is larger than an upload."""
    if file.seek(0, SEEK_END) > CSV_MAX_BYTES:
        raise ArchiveUnreadable("too_large")
    file.seek(0)
    for row in read_rows(file, content):
        tally.counts["rows"] += 1
        tally.counts["rows with a host"] += "@" in row.address.removeprefix("@")
        tally.counts["rows without boosts"] += not row.shows_boosts
    return f"list ({content})"


def _count_row(row: PostRow, tally: Tally) -> None:
    details = row.newest.details
    tally.counts["posts"] += 1
    tally.counts["posts with a reply"] += row.reply_to is not None
    tally.counts["posts with a poll"] += details.poll is not None
    tally.counts["posts with a warning"] += bool(details.spoiler_text)
    tally.counts["posts with a language"] += bool(details.language)
    tally.counts["former versions"] += len(row.versions) - 1


def _try_pictures(archive: AccountArchive, row: PostRow, tally: Tally) -> None:
    for number, picture in enumerate(row.newest.pictures):
        try:
            if number >= MEDIA_PER_POST:
                raise LineRefused("too_many")
            check_picture(archive.read_picture(picture.file))
            tally.counts["pictures"] += 1
        except LineRefused as refused:
            tally.refuse(row.number, f"picture_{refused.reason}")
        except ArchiveUnreadable:
            tally.refuse(row.number, "picture_unreadable")
