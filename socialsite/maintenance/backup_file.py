"""The file of a backup: a header, compressed blocks of records, an end that vouches for all of it.

    SOCIALSITE BACKUP\\n | block | block | ... | end
    block: length (4 bytes, big-endian) | CRC-32 (4 bytes) | zlib of a MessagePack list of records
    the first block is the Header, the last one (after a length of 0) the Ending, with SHA-256 of the rest

A file is whole or it is refused: it is read to its end before anything of it is used.
"""

import contextlib
import hashlib
import os
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self, TypeVar

import msgspec

from socialsite.maintenance.dump import Record

MAGIC = b"SOCIALSITE BACKUP\n"
VERSION = 1
BLOCK_BYTES = 1 << 20  # before compression
BLOCK_BYTES_CAP = 1 << 30

T = TypeVar("T")


class BackupDamaged(Exception):
    """Not a backup, not a whole one, or one of a later version. The message says which."""


class Header(msgspec.Struct, frozen=True):
    """`partitions`: FOLLOW_PARTITIONS and PROFILE_PARTITIONS of the site; its keys name them."""

    version: int
    at_ms: int
    partitions: dict[str, int]


class Ending(msgspec.Struct, frozen=True):
    """`counts`: keys by family."""

    counts: dict[str, int]
    sha256: str


_encoder = msgspec.msgpack.Encoder()
_records = msgspec.msgpack.Decoder(list[Record])
_header = msgspec.msgpack.Decoder(Header)
_ending = msgspec.msgpack.Decoder(Ending)


class BackupWriter:
    """Writes beside the name and takes it at the end: a backup of that name is replaced by a whole one or not
    at all. Readable by its owner only: it holds what the accounts keep secret."""

    def __init__(self, path: Path, header: Header) -> None:
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._part.unlink(missing_ok=True)
        handle = os.open(self._part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        self._file: IO[bytes] = os.fdopen(handle, "wb")
        self._hash = hashlib.sha256()
        self._waiting: list[Record] = []
        self._bytes = 0
        self.counts: Counter[str] = Counter()
        self._put(MAGIC)
        self._block(_encoder.encode(header))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None:
            self._finish()
        else:
            self._file.close()
            with contextlib.suppress(OSError):
                self._part.unlink()

    def add(self, family: str, records: Sequence[Record]) -> None:
        self.counts[family] += len(records)
        for record in records:
            self._waiting.append(record)
            self._bytes += sum(map(len, record.parts)) + len(record.key)
            if self._bytes >= BLOCK_BYTES:
                self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._block(_encoder.encode(self._waiting))
        self._waiting, self._bytes = [], 0

    def _block(self, content: bytes) -> None:
        packed = zlib.compress(content, 6)
        self._put(len(packed).to_bytes(4) + zlib.crc32(packed).to_bytes(4) + packed)

    def _put(self, data: bytes) -> None:
        self._hash.update(data)
        self._file.write(data)

    def _finish(self) -> None:
        self._flush()
        self._put((0).to_bytes(4))
        self._block(_encoder.encode(Ending(dict(self.counts), self._hash.hexdigest())))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._part.replace(self._path)


class BackupReader:
    """Reads a file twice: `check` to its end, then `blocks`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def size(self) -> int:
        return self._path.stat().st_size

    def check(self) -> tuple[Header, Ending]:
        """Raises BackupDamaged where anything is missing or was changed; OSError."""
        counted = 0
        with self._path.open("rb") as file:
            reading = _Reading(file)
            header = reading.header()
            while (block := reading.block()) is not None:
                counted += len(records_of(block))
            digest = reading.digest
            ending = reading.decoded(_ending, reading.block())
            if file.read(1):
                raise BackupDamaged("something follows after its end")
        if ending.sha256 != digest:
            raise BackupDamaged("its checksum is wrong")
        if counted != sum(ending.counts.values()):
            raise BackupDamaged("records are missing")
        return header, ending

    def blocks(self) -> Iterator[tuple[int, list[Record]]]:
        """(bytes of the file read so far, records)"""
        with self._path.open("rb") as file:
            reading = _Reading(file)
            reading.header()
            while (block := reading.block()) is not None:
                yield file.tell(), records_of(block)


class _Reading:
    """One reading of a file from its beginning."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        if self._take(len(MAGIC)) != MAGIC:
            raise BackupDamaged("it is no backup of this site")

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def header(self) -> Header:
        header = self.decoded(_header, self.block())
        if header.version != VERSION:
            raise BackupDamaged(f"its version is {header.version}, this release reads {VERSION}")
        return header

    def block(self) -> bytes | None:
        """The next block; None at the mark of the end."""
        length = int.from_bytes(self._take(4))
        if length == 0:
            return None
        if length > BLOCK_BYTES_CAP:
            raise BackupDamaged("a block has an impossible length")
        crc, packed = int.from_bytes(self._take(4)), self._take(length)
        if zlib.crc32(packed) != crc:
            raise BackupDamaged("the checksum of a block is wrong")
        return zlib.decompress(packed)

    def decoded(self, decoder: "msgspec.msgpack.Decoder[T]", block: bytes | None) -> T:
        try:
            return decoder.decode(block or b"")
        except msgspec.MsgspecError as error:
            raise BackupDamaged(f"a block cannot be read: {error}") from error

    def _take(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) != count:
            raise BackupDamaged("it ends too early")
        self._hash.update(data)
        return data


def records_of(block: bytes) -> list[Record]:
    try:
        return _records.decode(block)
    except msgspec.MsgspecError as error:
        raise BackupDamaged(f"a block cannot be read: {error}") from error
