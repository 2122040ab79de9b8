"""Opens the zip or tar that a person downloaded, with limits, and finds its members by their whole paths."""

import gzip
import re
import shutil
import stat
import struct
import tarfile
import tempfile
import unicodedata
import weakref
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import SEEK_END
from itertools import islice
from typing import IO, TypeAlias, cast
from urllib.parse import unquote

from socialsite.disk import is_storage_failure
from timelines.importing.lines import GZIP_MAGIC

MEMBERS_CAP = 100_000
DIRECTORY_MAX_BYTES = 32 * 1024 * 1024
"""The largest list of members, and the most bytes of a tar that are read at once."""
MEMBER_MAX_BYTES = 1024 * 1024 * 1024
"""The largest member, and the largest size of all members with tweets."""
TAR_MAX_BYTES = 4 * MEMBER_MAX_BYTES
RATIO_MAX = 200
"""The maximum ratio of the size of a member to its compressed size, if it is larger than RATIO_FREE_BYTES."""
RATIO_FREE_BYTES = 16 * 1024 * 1024
OUTBOX_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{(?s:.{0,60000})\"orderedItems\"")
"""The start of an `outbox.json` without its archive: browsers unpack a zip, and a zip with videos is too large."""
END_OF_ZIP = re.compile(rb"PK\x05\x06(?=.{8}(.{4}))|PK\x06\x06(?=.{36}(.{8}))", re.DOTALL)
"""The record at the end of a zip, or of a large zip, with the number of bytes of the list of members."""
END_MAX_BYTES = 66_000  # the record with the longest possible comment
UTF8_NAME = 0x800
"""The bit of a member of a zip whose name is UTF-8. Without it, programs of macOS write UTF-8, too."""
READ_ERRORS = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OSError,
    LookupError, TypeError,
)  # fmt: skip
Member: TypeAlias = zipfile.ZipInfo | tarfile.TarInfo


class ArchiveUnreadable(OSError):
    """The file is no archive of a known kind, is damaged, or is larger than this site reads. `code` is the reason."""

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(text or code)
        self.code = code


@contextmanager
def readable() -> Iterator[None]:
    """Raise ArchiveUnreadable for the errors of a damaged or encrypted member, not for those of the disk."""
    try:
        yield
    except ArchiveUnreadable:
        raise
    except READ_ERRORS as error:
        if is_storage_failure(error):
            raise
        raise ArchiveUnreadable("unreadable", str(error)) from error


class ArchiveFiles:
    """The members of an open zip or tar, by their paths. `folder` is put before each path, once it is known."""

    def __init__(self, file: IO[bytes]) -> None:
        """Open the archive and list its members. Raises ArchiveUnreadable."""
        self.folder = ""
        with readable():
            if _read_start(file).startswith(GZIP_MAGIC):
                packed, file = file, self._open_temporary()
                _unpack(packed, file)
            if OUTBOX_START.match(_read_start(file, 64 * 1024)):
                alone, file = file, self._open_temporary()
                _pack(alone, file, "outbox.json")
            archive = self._archive = _open(file)
            members = archive.infolist() if isinstance(archive, zipfile.ZipFile) else _tar_members(archive)
        self._by_path: dict[str, Member] = {clean_path(_name_of(member)): member for member in members}
        self._by_folded_path: dict[str, Member] = {}
        self._by_name: dict[str, Member | None] = {}
        for path, member in self._by_path.items():
            self._by_folded_path.setdefault(path.casefold(), member)
            name = path.casefold().rpartition("/")[2]
            self._by_name[name] = None if name in self._by_name else member

    def _open_temporary(self) -> IO[bytes]:
        file = cast(IO[bytes], tempfile.TemporaryFile())  # noqa: SIM115 the next line closes it
        weakref.finalize(self, file.close)
        return file

    def paths(self) -> list[str]:
        return list(self._by_path)

    def find(self, path: str, *, anywhere: bool = False) -> Member | None:
        """Return the member at a path of the folder, or None.

        With `anywhere`, a member of another folder is found if it is the only one with this name.
        """
        for each in (path, unquote(path)):
            whole = clean_path(f"{self.folder}{clean_path(each)}")
            if (member := self._by_path.get(whole) or self._by_folded_path.get(whole.casefold())) is not None:
                return member
        return self._by_name.get(clean_path(path).casefold().rpartition("/")[2]) if anywhere else None

    def open(self, member: Member) -> IO[bytes]:
        """Open a member. Raises ArchiveUnreadable if a member of a zip is a link, or too large when it is unpacked."""
        if isinstance(self._archive, tarfile.TarFile):
            return cast(IO[bytes], self._archive.extractfile(cast(tarfile.TarInfo, member)))
        info = cast(zipfile.ZipInfo, member)
        is_bomb = info.file_size > max(RATIO_FREE_BYTES, RATIO_MAX * info.compress_size)
        if is_bomb or info.file_size > MEMBER_MAX_BYTES or stat.S_ISLNK(info.external_attr >> 16):
            raise ArchiveUnreadable("too_large", f"{info.filename} is too large")
        return self._archive.open(info)


def size_of(member: Member) -> int:
    return member.file_size if isinstance(member, zipfile.ZipInfo) else member.size


def clean_path(path: str) -> str:
    """Return a path in NFC, with slashes, and without empty parts and parts that are only a dot."""
    parts = unicodedata.normalize("NFC", path).replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", "."))


def _name_of(member: Member) -> str:
    if isinstance(member, tarfile.TarInfo):
        return member.name
    if not member.flag_bits & UTF8_NAME:
        with suppress(UnicodeError):  # the name is in another encoding
            return member.filename.encode("cp437").decode()
    return member.filename


def is_packed(file: IO[bytes]) -> bool:
    """Return whether the file is a zip, or a tar with or without gzip. A file of lines is neither."""
    if zipfile.is_zipfile(file):
        return True
    start = _read_start(file)
    if start.startswith(GZIP_MAGIC):
        with suppress(*READ_ERRORS), gzip.GzipFile(fileobj=file) as stream:
            start = stream.read(512)
    file.seek(0)
    return is_tar(start)


def is_tar(start: bytes) -> bool:
    return start[257:262] == b"ustar"


def _read_start(file: IO[bytes], size_bytes: int = 512) -> bytes:
    file.seek(0)
    start = file.read(size_bytes)
    file.seek(0)
    return start


def _open(file: IO[bytes]) -> zipfile.ZipFile | tarfile.TarFile:
    start = _read_start(file)
    if is_tar(start):
        return tarfile.TarFile(fileobj=cast(IO[bytes], _BoundedTar(file)))
    if not start.startswith(b"PK") and not zipfile.is_zipfile(file):
        raise ArchiveUnreadable("unknown_format", "it is neither a zip nor a tar")
    return open_zip(file)


def _unpack(file: IO[bytes], unpacked: IO[bytes]) -> None:
    """Write the unpacked bytes to a temporary file. Raises ArchiveUnreadable if there are too many.

    The members of a tar are read in any order. Without this file, each step back would unpack the archive again.
    """
    max_bytes = min(TAR_MAX_BYTES, max(RATIO_FREE_BYTES, RATIO_MAX * file.seek(0, SEEK_END)))
    file.seek(0)
    size_bytes = 0
    with gzip.GzipFile(fileobj=file) as stream:
        while chunk := stream.read(1 << 20):
            size_bytes += len(chunk)
            if size_bytes > max_bytes:
                raise ArchiveUnreadable("too_large", "it is too large when unpacked")
            unpacked.write(chunk)


def _pack(file: IO[bytes], packed: IO[bytes], name: str) -> None:
    """Write a zip that contains only this file."""
    with zipfile.ZipFile(packed, "w") as archive, archive.open(name, "w", force_zip64=True) as member:
        shutil.copyfileobj(file, member)


class _BoundedTar:
    """A tar whose headers cannot make `tarfile` read gigabytes into memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable
        self.seek(0)

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= DIRECTORY_MAX_BYTES:
            raise ArchiveUnreadable("too_large", "a header is too large")
        return self._file.read(size)


def _tar_members(archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    members = list(islice(archive, MEMBERS_CAP + 1))
    if len(members) > MEMBERS_CAP:
        raise ArchiveUnreadable("too_large", "it has too many members")
    return [each for each in members if each.isreg() and not each.issparse() and each.size <= MEMBER_MAX_BYTES]


def open_zip(file: IO[bytes]) -> zipfile.ZipFile:
    """Open a zip file whose list of members is small enough. Raises ArchiveUnreadable, BadZipFile."""
    file.seek(max(0, file.seek(0, SEEK_END) - END_MAX_BYTES))
    ends = END_OF_ZIP.finditer(file.read(END_MAX_BYTES))
    sizes = [int.from_bytes(end[1] or end[2], "little") for end in ends]
    if any(size > DIRECTORY_MAX_BYTES and size != 0xFFFFFFFF for size in sizes):  # 0xFFFFFFFF: see END_OF_ZIP
        raise ArchiveUnreadable("too_large", "it has too many members")
    opened = zipfile.ZipFile(file)
    if len(opened.namelist()) > MEMBERS_CAP:
        raise ArchiveUnreadable("too_large", "it has too many members")
    return opened
